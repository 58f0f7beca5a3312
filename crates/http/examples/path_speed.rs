//! How long it takes to normalize a path: `cargo run --release -p hayami-http --example path_speed`.
//! To reach: below 15 ns for `/index.html`.

use hayami_http::target::normalize;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 5_000_000;

const PATHS: [(&str, &str); 6] = [
    ("short", "/index.html"),
    ("long", "/assets/2026/img/gallery/spring/0001/large/cherry-blossom-by-the-river.en.webp"),
    ("dot file", "/.well-known/security.txt"),
    ("encoded", "/hello%20world/%E6%B0%B4.html"),
    ("dot segments", "/a/b/c/./../../g/index.html"),
    ("slashes", "//a//b//c//index.html"),
];

fn main() {
    let mut scratch = Vec::new();
    println!("ns per path, best of 5 times {ROUNDS}");
    for (name, path) in PATHS {
        let best = (0..5).map(|_| nanoseconds(path.as_bytes(), &mut scratch)).fold(f64::INFINITY, f64::min);
        println!("{best:7.1}  {name:12}  {path}");
    }
}

fn nanoseconds(path: &[u8], scratch: &mut Vec<u8>) -> f64 {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        black_box(normalize(black_box(path), scratch)).expect("the paths above are good");
    }
    start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
}
