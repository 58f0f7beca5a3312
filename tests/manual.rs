//! The manual's configurations: each passes `-t`, as printed or inserted where its first line says.

use crate::support::dns::Dns;
use crate::support::{Launch, Scratch, said_of_staged, staged};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// A block of a page.
struct Block {
    /// `docs/manual.md:90`
    place: String,
    text: String,
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let docs =
        std::fs::read_dir(root.join("docs")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let docs = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    docs.chain([root.join("README.md")]).collect()
}

/// The blocks of a page that are configurations, or might be.
fn blocks(page: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(page).expect("a page");
    let name = page.file_name().expect("a file").to_string_lossy().into_owned();
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let inner: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        if kind == "yaml" {
            blocks.push(Block { place: format!("{name}:{}", number + 1), text: inner.join("\n") + "\n" });
        }
    }
    blocks
}

fn indented(text: &str, columns: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(columns))).collect()
}

const SITE: &str = "hosts:\n  default:\n    paths:\n      /:\n        file.dir: /srv/www\n";

/// A complete configuration with the block in it. The first line of a fragment names its place.
fn whole(block: &Block) -> String {
    let Block { place, text } = block;
    let Some(of) = text.lines().next().and_then(|line| line.strip_prefix("# Fragment of ")) else {
        for name in ["listen:", "hosts:"] {
            let stands = text.lines().any(|line| line.trim_start().starts_with(name));
            assert!(
                stands,
                "{place} has no `{name}`: if it is a fragment, its first line has to say of what"
            );
        }
        return text.clone();
    };
    let listen = if text.contains("listen:") { "" } else { "listen: 8080\n" };
    match of {
        "the top level" => format!("{listen}{text}{SITE}{}", uses(text)),
        "hosts" => format!("{listen}hosts:\n{}", indented(text, 2)),
        "a host" => format!("{listen}hosts:\n  default:\n{}", indented(text, 4)),
        "a path" => format!("{listen}hosts:\n  default:\n    paths:\n      /:\n{}", indented(text, 8)),
        "a listener" => format!("listen:\n  port: 8443\n{}{SITE}", indented(text, 2)),
        "an upstream group" => {
            let group =
                format!("upstreams:\n  app:\n    backends: http://127.0.0.1:3000\n{}", indented(text, 4));
            format!("{listen}{group}{SITE}{}", uses(&group))
        }
        other => panic!("{place}: what is {other}?"),
    }
}

/// Paths that use the upstream groups of a text: an unused group is a warning.
fn uses(text: &str) -> String {
    let lines = text.lines().skip_while(|line| *line != "upstreams:").skip(1);
    let names = lines
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.trim().strip_suffix(':'));
    names.map(|name| format!("      /{name}: {{proxy.reverse.url: 'http://{name}'}}\n")).collect()
}

/// A name server with the names of the manual.
fn names() -> Dns {
    let dns = Dns::new();
    for name in ["app.internal", "api.internal"] {
        dns.addresses(name, 60, &[Ipv4Addr::LOCALHOST]);
    }
    dns.services("_api._tcp.service.consul", 60, &[(1, 1, 8080, "api.internal")]);
    dns
}

#[test]
fn every_configuration_of_the_manual_is_right() {
    let dns = names();
    let resolver = format!("resolver: '{}'", dns.address);
    let mut count = 0;
    for block in pages().iter().flat_map(|page| blocks(page)) {
        let dir = Scratch::new();
        let text = whole(&block).replace("resolver: 127.0.0.1:8600", &resolver);
        let own = if text.contains("resolver:") { "" } else { &resolver };
        let text = staged(&dir, &format!("{text}{own}\n"));
        dir.write("conf.d/one.conf", staged(&dir, "one.example:\n  paths: {/: {file.dir: /srv/www}}\n"));
        let ended = Launch::config(&dir, &text).within(&dir.path("")).finish_test(&[]);
        assert_eq!((ended.code, said_of_staged(&ended.stderr).as_str()), (0, ""), "{}: {text}", block.place);
        count += 1;
    }
    assert!(count > 40, "{count} blocks");
}
