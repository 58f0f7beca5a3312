//! The layer check: who may use whom, and what the two lowest layers never use.
//!
//! ```text
//! 5 hayami ─▶ 4 hayami-server ─▶ 3 hayami-net ─▶ 2 hayami-h1 ─▶ 1 hayami-http
//! ```
//!
//! A crate uses crates of lower layers only. What stands beside the layers (fuzz, bench) uses what it likes,
//! and nothing in the layers uses it.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The crates of the layers and what each may use of them.
const LAYERS: &[(&str, &[&str])] = &[
    ("hayami-http", &[]),
    ("hayami-h1", &["hayami-http"]),
    ("hayami-hpack", &["hayami-http"]),
    ("hayami-h2", &["hayami-http", "hayami-hpack"]),
    ("hayami-fcgi", &["hayami-http"]),
    // Within layer 3, the sockets use TLS, not the other way round.
    ("hayami-tls", &["hayami-http", "hayami-h1"]),
    ("hayami-net", &["hayami-http", "hayami-h1", "hayami-h2", "hayami-fcgi", "hayami-tls"]),
    // Layer 4 knows nothing of frames: no protocol engine.
    ("hayami-server", &["hayami-http", "hayami-net", "hayami-tls"]),
    // Load is made by the engines themselves: what is measured must not hide behind layers.
    ("hayami-load", &["hayami-http", "hayami-h1", "hayami-h2", "hayami-hpack", "hayami-tls", "hayami-net"]),
    (
        "hayami",
        &[
            "hayami-http",
            "hayami-h1",
            "hayami-h2",
            "hayami-tls",
            "hayami-net",
            "hayami-server",
            "hayami-load",
        ],
    ),
];

/// The crates that take bytes and the time, and give bytes: no I/O, no clock, no unsafe.
const ENGINES: &[&str] = &["hayami-http", "hayami-h1", "hayami-hpack", "hayami-h2", "hayami-fcgi"];

/// What only crates with sockets, tasks or files have use for.
const FOR_IO: &[&str] = &["tokio", "mio", "socket2", "rustix", "nix", "libc", "io-uring", "rustls"];

/// Names of the crates that `package` uses, those of tests too if `tests`.
fn uses(package: &Value, tests: bool) -> Vec<&str> {
    let dependencies = package["dependencies"].as_array().expect("a list");
    let wanted = dependencies.iter().filter(|dependency| tests || dependency["kind"] != "dev");
    wanted.filter_map(|dependency| dependency["name"].as_str()).collect()
}

fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    metadata["packages"].as_array().expect("a list").clone()
}

fn named<'a>(packages: &'a [Value], name: &str) -> &'a Value {
    packages
        .iter()
        .find(|package| package["name"] == name)
        .unwrap_or_else(|| panic!("there is a crate {name}"))
}

#[test]
fn crates_use_lower_layers_only() {
    let packages = packages();
    for (name, allowed) in LAYERS {
        let ours = uses(named(&packages, name), false).into_iter().filter(|used| used.starts_with("hayami"));
        let forbidden: Vec<_> = ours.filter(|used| !allowed.contains(used)).collect();
        assert!(forbidden.is_empty(), "{name} must not use {forbidden:?}");
    }
}

#[test]
fn every_crate_of_the_tree_has_its_layer() {
    for package in &packages() {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let name = package["name"].as_str().expect("a name");
        let in_layers =
            Path::new(manifest).parent().and_then(Path::parent).is_some_and(|at| at.ends_with("crates"));
        assert_eq!(in_layers, LAYERS.iter().any(|(own, _)| *own == name), "{name}");
    }
}

#[test]
fn engines_have_no_io_and_no_unsafe() {
    let packages = packages();
    for name in ENGINES {
        let package = named(&packages, name);
        let forbidden: Vec<_> =
            uses(package, true).into_iter().filter(|used| FOR_IO.contains(used)).collect();
        assert!(forbidden.is_empty(), "{name} must not use {forbidden:?}");
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let library = manifest.with_file_name("src").join("lib.rs");
        let text = std::fs::read_to_string(library).expect("a library");
        assert!(text.contains("#![forbid(unsafe_code)]"), "{name} forbids unsafe code");
    }
}
