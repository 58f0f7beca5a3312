//! Chromium, which is what most users of HTTP/2 are: a page with 500 images loads whole, what blocks the page first.

use crate::support::{Scratch, Server, chromium, missing, tls, until};
use std::time::Instant;

const IMAGES: usize = 500;

/// A page whose title shows how many of its images have loaded, and the size that its style gave them.
fn site() -> Scratch {
    let dir = Scratch::new();
    let images: String = (0..IMAGES).map(|number| format!("<img src=/image/{number}.svg>")).collect();
    let script = "onload = () => { const all = [...document.images];\
                  document.title = `loaded ${all.filter(i => i.naturalWidth == 7).length}, ${all[0].width}, ${late}` }";
    // The script and the style are listed after the images: only priorities deliver them first.
    let page = format!(
        "<!doctype html><title>loading</title>{images}<link rel=stylesheet href=/page.css><script src=/page.js></script>\
         <script>{script}</script>"
    );
    dir.write("site/page.html", page).write("site/page.css", "img { width: 20px; height: 20px }");
    dir.write("site/page.js", "const late = 'script'");
    for number in 0..IMAGES {
        let hue = number * 360 / IMAGES;
        // 20 KB each, so that they cannot all leave at once.
        let image = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='7' height='7'><!--{}--><rect width='7' height='7' \
             fill='hsl({hue},80%,50%)'/></svg>",
            "x".repeat(20_000)
        );
        dir.write(&format!("site/image/{number}.svg"), image);
    }
    dir
}

/// The hash of the public key by which Chromium trusts a certificate of an unknown authority.
fn spki(dir: &Scratch) -> String {
    let command = format!(
        "openssl x509 -in {} -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
        dir.text("tls/leaf.pem")
    );
    crate::support::run("sh", &["-c", &command]).trim().to_owned()
}

#[test]
fn a_page_with_500_images_loads_whole_and_what_blocks_it_first() {
    if missing("chromium") {
        return;
    }
    let dir = site();
    let log = "access-log: {path: DIR/log, format: \"%H %U %s %{http2.stream-id}x\"}\n";
    let server: Server = tls::site(&dir, "", log);
    let trust = format!("--ignore-certificate-errors-spki-list={}", spki(&dir));
    let url = format!("https://localhost:{}/page.html", server.port());
    let begin = Instant::now();
    let page = chromium(&dir, &[&trust, "--dump-dom", &url]);
    let title = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    assert_eq!(title.map(|(title, _)| title), Some("loaded 500, 20, script"), "after {:?}", begin.elapsed());
    until("all is in the log", || dir.read("log").lines().count() > IMAGES + 2);
    let log = dir.read("log");
    let lines: Vec<&str> = log.lines().collect();
    let versions =
        lines.iter().filter(|line| line.starts_with("HTTP/2 ") || line.starts_with("HTTP/2.0 ")).count();
    assert_eq!(versions, lines.len(), "{log}");
    let place = |path: &str| lines.iter().position(|line| line.contains(path)).expect("it is in the log");
    for path in ["/page.css", "/page.js"] {
        let before = lines[..place(path)].iter().filter(|line| line.contains("/image/")).count();
        // Images that were sent before Chromium had read the style's name.
        assert!(before < IMAGES / 2, "{path} comes after {before} images");
    }
    if let Ok(path) = std::env::var("HAYAMI_SCREENSHOT") {
        chromium(&dir, &[&trust, &format!("--screenshot={path}"), "--window-size=800,600", &url]);
    }
}
