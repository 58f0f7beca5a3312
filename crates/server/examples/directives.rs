//! Prints docs/directives.md.

fn main() {
    print!("{}", hayami_server::manual::directives());
}
