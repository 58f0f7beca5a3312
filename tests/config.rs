//! Configurations: those that must run, and the messages for those that cannot.

use crate::support::{Launch, Scratch, Server, is_root, said_of_staged, staged};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/config")
}

/// The exit code and output of `-t` for the file.
fn check(file: &Path, within: &Path) -> (i32, String) {
    let ended = Launch::new(["-t".as_ref(), "-c".as_ref(), file.as_os_str()]).within(within).finish();
    (ended.code, ended.stderr)
}

#[test]
fn the_configuration_of_scenario_0_runs_with_its_folder_and_port_changed_only() {
    let dir = Scratch::new();
    dir.write("html/index.html", "welcome");
    let text = std::fs::read_to_string(fixtures().join("s0.conf")).expect("the fixture");
    let changed =
        text.replace("/usr/local/nginx/html", &dir.text("html")).replace("listen: 80", "listen: 127.0.0.1:0");
    assert_ne!(text, changed);
    let server = Server::config(&dir, &changed);
    assert_eq!(server.get_with("/", "Host: 127.0.0.1\r\n").text(), "welcome");
    assert_eq!(server.banner("workers"), "16");
    assert_eq!(server.banner("connections"), "10240 at once");
}

#[test]
fn every_example_is_right_as_it_stands() {
    let examples =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().expect("examples");
    let mut names = Vec::new();
    for file in configurations(&examples) {
        let name = file.strip_prefix(&examples).expect("below it").display().to_string();
        let text = std::fs::read_to_string(&file).expect("the example");
        let dir = Scratch::new();
        dir.write("hayami.conf", staged(&dir, &text));
        // Relative paths start from the folder in which `examples` is.
        let (code, said) = check(&dir.path("hayami.conf"), examples.parent().expect("the repository"));
        assert_eq!((code, said_of_staged(&said).as_str()), (0, ""), "{name}");
        names.push(name);
    }
    names.sort();
    let wanted = [
        "h2o.conf",
        "php.conf",
        "psgi/hayami.conf",
        "rest-api/hayami.yaml",
        "reverse-proxy.conf",
        "single-page-app.conf",
        "two-sites.conf",
        "websocket/hayami.conf",
    ];
    assert_eq!(names, wanted);
}

/// The configurations below a folder.
fn configurations(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_one = |path: &Path| path.extension().is_some_and(|end| end == "conf" || end == "yaml");
    entries
        .flat_map(|path| match path {
            folder if folder.is_dir() && !folder.ends_with("node_modules") => configurations(&folder),
            file if is_one(&file) => vec![file],
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn the_configuration_of_scenario_3_is_right_as_it_stands() {
    let dir = Scratch::new();
    dir.write("examples/doc_root/index.html", "Hello, world.");
    let file = fixtures().join("s3.conf").canonicalize().expect("the fixture");
    let (code, said) = check(&file, &dir.path(""));
    // `user: root` is for root.
    assert_eq!(code, if is_root() { 0 } else { 77 }, "{said}");
}

#[test]
fn every_error_of_the_fixtures_ends_with_78_and_is_said_in_their_words() {
    let folder = fixtures().join("errors");
    // The messages name the files as the test of the loader does, which runs in its crate's folder.
    let within = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the fixtures").flatten() {
        let name = entry.file_name().into_string().expect("UTF-8");
        let Some(stem) = name.strip_suffix(".conf") else { continue };
        let file = format!("../../fixtures/config/errors/{name}");
        let (code, said) = check(Path::new(&file), &within);
        let wanted = std::fs::read_to_string(entry.path().with_file_name(format!("{stem}.txt")));
        assert_eq!((code, said.trim_end()), (78, wanted.expect("its words").trim_end()), "{name}");
        count += 1;
    }
    assert!(count > 50, "{count} cases");
}

/// Lines before a valid configuration, and the resulting messages.
const WRONG: &[(&str, &[&str])] = &[
    ("num-thread: 4", &["hayami.conf:1:1", "num-thread: 4", "did you mean `num-threads`?"]),
    ("num-threads: four", &["hayami.conf:1:14", "num-threads: four", "integer", "`four`"]),
    ("file.dir: /srv", &["hayami.conf:1:1", "`file.dir` is not allowed", "in a path"]),
    ("paths: {}", &["hayami.conf:1:1", "`paths` is not allowed", "in a host"]),
    ("expires: 1 fortnight", &["hayami.conf:1:10", "unknown unit `fortnight`"]),
    ("expires: 1 dya", &["did you mean `day`?"]),
    ("file.etag: yes", &["hayami.conf:1:12", "ON or OFF", "`yes`"]),
    ("error-doc: {url: /x}", &["`status` is missing"]),
    ("error-doc: {status: 200, url: /x}", &["from 400 to 599"]),
    ("header.add: \"no colon\"", &["hayami.conf:1:13", "no colon"]),
    ("header.add: \"a b: c\"", &["hayami.conf:1:13"]),
    ("access-log: {path: DIR/log, format: \"%Z\"}", &["unknown specifier `%Z`"]),
    ("access-log: {path: DIR/log, format: \"%{duration\"}", &["has no closing brace"]),
    ("access-log: {format: \"%h\"}", &["`path` is missing"]),
    ("file.mime.addtypes: {nonsense: .x}", &["a media type such as `text/plain`"]),
    ("file.mime.addtypes: {text/x: x}", &["write `.x`"]),
    ("file.symlinks: sometimes", &["follow, within, never"]),
    ("setenv: {\"A=B\": c}", &["must not contain `=`"]),
    ("limit-request-line: 1", &["from 16 to"]),
    ("server-name: \"\"", &["send-server-name: OFF"]),
    ("listen: {port: 80, ssl: {}}", &["`ssl` has no certificate"]),
    ("listen: 127.0.0.1:http", &["127.0.0.1:80"]),
    ("listen: /run/x", &["type: unix"]),
    ("status: ON", &["`status` is not supported yet"]),
    ("mruby.handler: x", &["not supported yet"]),
    ("worker_processes: 4", &["worker_processes", "num-threads"]),
    ("a: [", &["hayami.conf:"]),
    ("a: *none", &["hayami.conf:1:4", "none"]),
    ("a: !file DIR/none", &["cannot read", "there is no such file"]),
    ("user: !env HAYAMI_NOT_SET", &["HAYAMI_NOT_SET"]),
    ("user: !perl x", &["!perl"]),
];

#[test]
fn every_mistake_is_said_with_its_place_its_line_and_what_to_do() {
    let dir = Scratch::new();
    for (line, words) in WRONG {
        let text =
            format!("{line}\nlisten: 127.0.0.1:0\nhosts: {{default: {{paths: {{/: {{file.dir: DIR}}}}}}}}\n");
        let ended = Launch::config(&dir, &text).finish_test(&[]);
        assert_eq!(ended.code, 78, "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("hayami.conf:"), "{line}: {}", ended.stderr);
        for word in *words {
            assert!(ended.stderr.contains(word), "{line} lacks {word:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn several_mistakes_are_said_at_once() {
    let dir = Scratch::new();
    let text = "num-thread: 4\nmax-conections: 1\nhosts: {default: {paths: {/: {fil.dir: DIR, file.etag: maybe}}}}\n";
    let said = Launch::config(&dir, text).finish_test(&[]).stderr;
    for word in ["num-threads", "max-connections", "file.dir", "`maybe`"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_eq!(said.matches("error: ").count(), 4, "{said}");
}

#[test]
fn parts_of_a_configuration_come_from_other_files() {
    let dir = Scratch::new();
    for name in ["one", "two", "three"] {
        dir.write(&format!("{name}/index.html"), name);
        dir.write(
            &format!("conf.d/{name}.conf"),
            format!("{name}.example:\n  paths: {{/: {{file.dir: {}}}}}\n", dir.text(name)),
        );
    }
    dir.write(
        "common.conf",
        "server-name: from a file\nsend-server-name: !file DIR/on.conf\n".replace("DIR", &dir.text("")),
    );
    dir.write("on.conf", "ON\n");
    dir.write("conf.d/README", "no configuration: {");
    let text = "<<: !file DIR/common.conf\nhosts: !file DIR/conf.d/*.conf\n";
    let server = Server::config(&dir, text);
    for name in ["one", "two", "three"] {
        let answer = server.get_with("/", &format!("Host: {name}.example\r\n"));
        assert_eq!((answer.text().as_str(), answer.field("server")), (name, Some("from a file")));
    }
}

#[test]
fn an_error_in_a_file_that_was_included_names_that_file() {
    let dir = Scratch::new();
    dir.write("hosts.conf", "default:\n  paths:\n    /: {file.dri: /x}\n");
    let ended = Launch::config(&dir, "hosts: !file DIR/hosts.conf\n").finish_test(&[]);
    assert_eq!(ended.code, 78);
    assert!(ended.stderr.contains("hosts.conf:3:9"), "{}", ended.stderr);
    assert!(ended.stderr.contains("did you mean `file.dir`?"), "{}", ended.stderr);
}

#[test]
fn values_come_from_the_environment() {
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    let text = "server-name: !env SITE_NAME\nhosts: {default: {paths: {/: {file.dir: !env SITE_FOLDER}}}}\n";
    let launch =
        Launch::config(&dir, text).env("SITE_NAME", "by environment").env("SITE_FOLDER", dir.path("site"));
    let answer = launch.serve().get("/");
    assert_eq!((answer.text().as_str(), answer.field("server")), ("front", Some("by environment")));
}

#[test]
fn aliases_merges_and_repeated_keys_are_read_as_h2o_reads_them() {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/p/index.html", "p");
    let text = "stash: &common\n  header.add: \"X-A: goes where the key is written again\"\n  file.etag: OFF\nhosts:\n  one: &one\n    paths:\n      /:\n        \
                <<: *common\n        header.add: \"X-A: own\"\n        header.add: \"X-A: again\"\n        file.dir: DIR/site\n  \
                two: *one\n";
    let server = Server::config(&dir, text);
    for host in ["one", "two"] {
        let answer = server.get_with("/", &format!("Host: {host}\r\n"));
        let mut values = answer.all("x-a");
        values.sort_unstable();
        assert_eq!((values, answer.field("etag")), (vec!["again", "own"], None), "{host}");
    }
}

#[test]
fn switches_are_read_in_any_case() {
    let dir = Scratch::new();
    dir.write("site/a", "a");
    for (value, listed) in [("ON", 200), ("on", 200), ("On", 200), ("OFF", 404), ("off", 404)] {
        assert_eq!(
            Server::site(&dir, &format!("file.dirlisting: {value}")).get("/").status,
            listed,
            "{value}"
        );
    }
}

#[test]
fn directives_that_mean_nothing_here_are_accepted() {
    let dir = Scratch::new();
    dir.write("site/a", "a");
    let lines = "http2-max-concurrent-requests-per-connection: 1024\nhttp2-idle-timeout: 10\nnum-name-resolution-threads: 1\n\
                 tcp-fastopen: 16\nhandshake-timeout: 5\nnum-ocsp-updaters: 2\ncrash-handler: x\n";
    let server = Server::config(
        &dir,
        &format!("{lines}hosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}}}}}}}\n"),
    );
    assert_eq!(server.get("/a").text(), "a");
}
