//! Replays every corpus through its target: what was found once stays found.

use hayami_fuzz::TARGETS;
use std::path::Path;

#[test]
fn every_file_of_every_corpus_passes_its_target() {
    for (name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut count = 0;
        for file in files {
            let path = file.unwrap().path();
            eprintln!("{}", path.display());
            target(&std::fs::read(&path).unwrap());
            count += 1;
        }
        assert!(count > 0, "{name} has no corpus");
    }
}

#[test]
fn every_target_takes_no_bytes_at_all() {
    TARGETS.iter().for_each(|(_, target)| target(b""));
}

#[test]
fn every_target_has_its_libfuzzer_program() {
    let manifest = include_str!("../Cargo.toml");
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("fuzz_targets/{name}.rs")), "{name}");
    }
}
