//! The report's pages in a real browser, if one is installed: what it makes of them is what was written.

#[path = "../../../tests/support/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::Command;

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        skip::skip("no browser is installed");
    }
    found
}

/// The page as the browser has it after reading, repaired where it had to be.
fn read_back(browser: &Path, page: &Path) -> String {
    // A profile of its own: browsers that share one wait for each other.
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("a browser that starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_browser_finds_nothing_to_repair() {
    let Some(browser) = browser() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/report");
    let folder = folder.canonicalize().expect("the fixtures");
    for name in ["compared", "troubled"] {
        let page = folder.join(name).with_extension("html");
        let written = std::fs::read_to_string(&page).expect("a fixture");
        let read = read_back(&browser, &page);
        for tag in
            ["section", "table", "tbody", "tr", "td", "th", "svg", "path", "text", "rect", "title", "pre"]
        {
            let count = |page: &str| {
                page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count()
            };
            assert_eq!(count(&read), count(&written), "{name}: {tag}");
        }
    }
}
