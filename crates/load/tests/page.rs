//! The report's pages in a real browser, if one is installed: its parsed document equals the written one.

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
fn read_back(browser: &Path, page: &Path, profile: &str) -> String {
    // A separate profile: browsers that share one wait for each other.
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(profile);
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"])
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
        let read = read_back(&browser, &page, "repair");
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

/// Says in its title which boxes of the page in its frame, 360 pixels wide, are wider than that.
const PHONE: &str = "<!doctype html><iframe width=360 height=2000 style='border:0' src='PAGE'></iframe><script>
onload = () => {
    const page = document.querySelector('iframe').contentDocument;
    const over = [...page.querySelectorAll('*')].filter(e => !e.closest('svg') && e.scrollWidth > e.clientWidth
        && getComputedStyle(e).display != 'inline' && e.clientWidth > 0);
    const small = [...page.querySelectorAll('svg text')].filter(e => getComputedStyle(e).display != 'none'
        && e.getBoundingClientRect().height < 9);
    const out = [...page.querySelectorAll('svg text')].filter(e => getComputedStyle(e).display != 'none'
        && (e.getBoundingClientRect().left < 0 || e.getBoundingClientRect().right > 360));
    const names = all => all.map(e => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40)).join(', ');
    document.title = `width ${page.documentElement.scrollWidth}; over: ${names(over)}; small: ${names(small)}; out: ${names(out)};`;
}</script>";

#[test]
fn a_page_is_read_on_a_phone_without_scrolling_sideways() {
    let Some(browser) = browser() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/report");
    let folder = folder.canonicalize().expect("the fixtures");
    for name in ["single", "compared", "troubled", "nothing"] {
        let page = folder.join(name).with_extension("html");
        let phone = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("phone-{name}.html"));
        let text = PHONE.replace("PAGE", &format!("file://{}", page.display()));
        std::fs::write(&phone, text).expect("a writable folder");
        let read = read_back(&browser, &phone, "phone");
        let title = read.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
        let title = title.unwrap_or_else(|| panic!("{name}: {read}")).0;
        // The frame's scroll bar takes some of its 360 pixels.
        let width = title.strip_prefix("width ").and_then(|rest| rest.split(';').next()?.parse::<u32>().ok());
        assert!(width.is_some_and(|width| width <= 360), "{name}: {title}");
        assert!(title.ends_with("; over: ; small: ; out: ;"), "{name}: {title}");
    }
}
