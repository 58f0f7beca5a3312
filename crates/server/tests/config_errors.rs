//! Every error message of the configuration: each file in fixtures/config/errors has its expected output.
//!
//! With HAYAMI_WRITE_FIXTURES=1 in the environment, the output is written instead of compared.

use hayami_server::features::load_file;
use std::path::{Path, PathBuf};

fn cases() -> Vec<PathBuf> {
    let directory = Path::new("../../fixtures/config/errors");
    let entries = std::fs::read_dir(directory).expect("the fixtures");
    let mut cases: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "conf"));
    cases.sort();
    cases
}

#[test]
fn every_error_is_said_in_these_words() {
    let write = std::env::var_os("HAYAMI_WRITE_FIXTURES").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let said = load_file(&case).expect_err(&case.to_string_lossy()).text(false);
        let expected = case.with_extension("txt");
        if write {
            std::fs::write(&expected, &said).expect("a writable fixture");
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != said {
            wrong.push(format!("{}:\n{said}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "not as written down:\n\n{}", wrong.join("\n"));
}
