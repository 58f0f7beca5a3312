//! Configurations that can be loaded, and their settings.

use hayami_server::config::Loaded;
use hayami_server::config::settings::{HandlerSettings, Settings};
use hayami_server::effective;
use hayami_server::features::{load_file, load_text};
use hayami_server::modules::error_log;
use hayami_server::modules::file::FileSettings;
use hayami_server::modules::http2;
use hayami_server::modules::identity;
use hayami_server::modules::limits;
use hayami_server::modules::listen;
use hayami_server::modules::listen::{Address, Host, HostPort, Listener, bindings};
use hayami_server::modules::process;
use hayami_server::modules::process::Threads;
use hayami_server::modules::redirect;
use hayami_server::modules::upstreams;
use hayami_server::modules::upstreams::Reference;
use std::path::Path;

fn load(text: &str) -> Loaded {
    load_text("test.conf", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The directories of all `file.dir`, by host, path and handler.
fn directories(settings: &Settings) -> Vec<String> {
    let paths = settings.hosts.iter().flat_map(|host| host.paths.iter().map(move |path| (host, path)));
    let handlers =
        paths.flat_map(|(host, path)| path.handlers.iter().map(move |handler| (host, path, handler)));
    let text = |handler: &HandlerSettings| {
        let file = handler.get::<FileSettings>().map(|file| &*file.path);
        if let Some(path) = handler.directory().or(file) {
            return path.display().to_string();
        }
        match (handler.get::<redirect::Settings>(), handler.get::<Reference>()) {
            (Some(redirect), _) => redirect.url.clone(),
            (_, Some(proxy)) => {
                settings.global.get::<upstreams::Settings>().groups[proxy.group].upstreams[0].url.to_string()
            }
            _ => format!("{handler:?}"),
        }
    };
    handlers.map(|(host, path, handler)| format!("{}{} {}", host.name, path.key, text(handler))).collect()
}

fn addresses(listeners: &[Listener]) -> Vec<String> {
    listeners.iter().map(Listener::to_string).collect()
}

#[test]
fn the_published_configurations_run_unmodified() {
    let loaded =
        load_file(Path::new("../../fixtures/config/s0.conf")).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.warnings_text(false), "");
    let global = &loaded.settings.global;
    assert_eq!(global.get::<process::Settings>().threads, Threads::Number(16));
    assert_eq!(global.get::<process::Settings>().name_resolution_threads, 1);
    assert_eq!(global.get::<limits::Settings>().max_connections, Some(10240));
    assert_eq!(addresses(global.get::<listen::Listeners>()), ["0.0.0.0:80 and [::]:80"]);
    assert_eq!(directories(&loaded.settings), ["127.0.0.1:80/ /usr/local/nginx/html"]);

    let loaded =
        load_file(Path::new("../../fixtures/config/s3.conf")).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.settings.global.get::<process::Settings>().user.as_deref(), Some("root"));
    assert_eq!(directories(&loaded.settings), ["0.0.0.0.xip.io:8080/ examples/doc_root"]);
    assert_eq!(loaded.warnings_text(false), "");
    assert_eq!(loaded.settings.global.get::<http2::Settings>().concurrent_streams(), 1024);
}

#[test]
fn listeners_are_written_in_many_ways() {
    for (text, want) in [
        ("80", "0.0.0.0:80 and [::]:80"),
        ("0", "0.0.0.0:0 and [::]:0"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("'[::1]:8080'", "[::1]:8080"),
        ("'*:8080'", "0.0.0.0:8080 and [::]:8080"),
        ("localhost:8080", "localhost:8080"),
        ("{port: 80}", "0.0.0.0:80 and [::]:80"),
        ("{port: 80, host: 127.0.0.1}", "127.0.0.1:80"),
        ("{port: 80, host: '::1'}", "[::1]:80"),
        ("{port: 80, host: '[::1]', type: tcp}", "[::1]:80"),
        ("{port: 443, type: QUIC}", "0.0.0.0:443 and [::]:443 (UDP)"),
        (
            "{port: 80, cc: bbr, initcwnd: 20, sndbuf: 64k, rcvbuf: 1m, proxy-protocol: OFF}",
            "0.0.0.0:80 and [::]:80, cc bbr, initcwnd 20, sndbuf 65536, rcvbuf 1048576",
        ),
        ("{port: /run/web.sock, type: unix}", "unix:/run/web.sock"),
        (
            "{port: /run/web.sock, type: unix, owner: www, group: 33, permission: 0660}",
            "unix:/run/web.sock, owner www, group 33, permission 0660",
        ),
    ] {
        let loaded = load(&format!("listen: {text}\nhosts: {{a: {{paths: {{}}}}}}\n"));
        assert_eq!(addresses(loaded.settings.global.get::<listen::Listeners>()), [want], "{text}");
        assert_eq!(loaded.warnings.len(), usize::from(text.contains("QUIC")), "{text}");
    }
}

#[test]
fn listen_may_be_repeated_and_stand_in_hosts() {
    let loaded = load(
        "listen: 80
listen: [81, {port: 82}]
listen: 80
hosts:
  a:
    listen: 83
    paths: {}
  b:
    listen: [83, 82, 84]
    paths: {}
  c:
    paths: {}
",
    );
    let bound: Vec<_> = bindings(&loaded.settings)
        .into_iter()
        .map(|binding| match &binding.listener.address {
            Address::Tcp(HostPort { host: Host::All, port }) => (*port, binding.hosts),
            other => panic!("{other}"),
        })
        .collect();
    let every = vec![0, 1, 2];
    assert_eq!(
        bound,
        [(80, every.clone()), (81, every.clone()), (82, every), (83, vec![0, 1]), (84, vec![1])]
    );
}

#[test]
fn inner_levels_see_all_of_the_outer_ones_in_any_order_of_the_lines() {
    let loaded = load(
        "hosts:
  a:
    paths:
      /:
        - file.dir: /first
        - error-log.emit-request-errors: ON
          file.file: /second
      /img/:
        file.dir: /img
    error-log.emit-request-errors: OFF
  b:
    paths: {/: {file.dir: /b}}
listen: 80
",
    );
    assert_eq!(directories(&loaded.settings), ["a/ /first", "a/ /second", "a/img/ /img", "b/ /b"]);
    let emit = |host: usize, path: usize| {
        loaded.settings.hosts[host].paths[path].inherited.get::<error_log::Settings>().emit_request_errors
    };
    assert_eq!([emit(0, 0), emit(0, 1), emit(1, 0)], [true, false, true]);
}

#[test]
fn merges_give_way_to_keys_below_them_and_keep_their_place_above() {
    let threads = |text: &str| {
        let loaded = load(&format!("{text}\nlisten: 80\nhosts: {{a: {{paths: {{}}}}}}\n"));
        match &loaded.settings.global.get::<process::Settings>().threads {
            Threads::Number(number) => *number,
            other => panic!("{other:?}"),
        }
    };
    for (text, want) in [
        ("stash: &x {num-threads: 1}\n<<: *x", 1),
        ("stash: &x {num-threads: 1}\n<<: *x\nnum-threads: 2", 2),
        ("stash: &x {num-threads: 1}\nnum-threads: 2\n<<: *x", 1),
        ("stash: [&x {num-threads: 1}, &y {num-threads: 3}]\n<<: [*x, *y]", 1),
        ("stash: [&x {num-threads: 1}, &y {<<: *x}]\n<<: *y", 1),
        // An alias may precede its anchor, as in h2o.
        ("<<: *x\nstash: &x {num-threads: 5}", 5),
        ("<<: !file ../../fixtures/config/parts/common.conf", 2),
        (
            "<<: [!file ../../fixtures/config/parts/empty.conf, !file ../../fixtures/config/parts/common.conf]",
            2,
        ),
        // Of repeated keys the last one applies.
        ("num-threads: 1\nnum-threads: 2", 2),
    ] {
        assert_eq!(threads(text), want, "{text}");
    }
}

#[test]
fn aliases_reach_into_included_files() {
    let loaded = load(
        "<<: !file ../../fixtures/config/parts/common.conf
listen: 80
hosts:
  a:
    paths:
      /: *gone
",
    );
    assert_eq!(directories(&loaded.settings), ["a/ /gone"]);
}

#[test]
fn a_pattern_joins_files_in_the_order_of_their_names() {
    let loaded = load("listen: 80\nhosts: !file ../../fixtures/config/conf.d/*.conf\n");
    assert_eq!(directories(&loaded.settings), ["a.example.org/ /a", "b.example.org/ /b"]);
    let names: Vec<_> = loaded.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(
        names,
        ["test.conf", "../../fixtures/config/conf.d/10-a.conf", "../../fixtures/config/conf.d/20-b.conf"]
    );
}

#[test]
fn the_environment_gives_values() {
    // Cargo sets this one for every test.
    let loaded = load("listen: 80\nserver-name: !env CARGO_PKG_NAME\nhosts: {a: {paths: {}}}\n");
    assert_eq!(loaded.settings.global.get::<identity::Settings>().server_name, "hayami-server");
}

#[test]
fn a_mark_of_the_byte_order_and_line_ends_of_dos_are_fine() {
    let loaded = load("\u{feff}listen: 80\r\nhosts:\r\n  a:\r\n    paths:\r\n      /: {file.dir: /a}\r\n");
    assert_eq!(directories(&loaded.settings), ["a/ /a"]);
}

#[test]
fn what_an_alias_brings_twice_is_wrong_once() {
    let errors =
        load_text("test.conf", "listen: 80\nhosts:\n  a: &a\n    paths: {/: {file.drl: /a}}\n  b: *a\n")
            .expect_err("a misspelt directive");
    assert_eq!(errors.errors.len(), 1, "{errors}");
}

/// The lines without their comments.
fn bare(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split(" # ").next().unwrap_or(line).trim_end()).collect()
}

#[test]
fn the_effective_configuration_has_every_value_and_its_origin() {
    let loaded = load_file(Path::new("../../fixtures/config/effective.conf"))
        .unwrap_or_else(|errors| panic!("{errors}"));
    for (defaults, expected) in [(false, "effective.txt"), (true, "effective_defaults.txt")] {
        let text = effective::text(&loaded, defaults);
        let expected = format!("../../fixtures/config/{expected}");
        if std::env::var_os("HAYAMI_WRITE_FIXTURES").is_some() {
            std::fs::write(&expected, &text).expect("a writable fixture");
        }
        assert_eq!(text, std::fs::read_to_string(&expected).unwrap_or_default());
        assert_eq!(text.contains("# default"), defaults);
    }
}

#[test]
fn the_effective_configuration_says_nothing_twice() {
    let text = "
listen: 80
http2-max-streams: 100
http2-max-streams: 200
file.etag: OFF
header.set: 'a: 1'
header.set: 'b: 2'
hosts:
  one:
    file.etag: ON
    file.etag: OFF
    paths: {/: {file.dir: /a, expires: 1 day}, /b: {file.dir: /b, file.send-gzip: ON}}
  two: {paths: {/: {file.dir: /a}}}
";
    let set = effective::text(&load(text), false);
    let want = "\
# What is set, and where. Inner levels inherit from outer ones.
http2-max-streams: 200
file.etag: OFF
header.set: \"a: 1\"
header.set: \"b: 2\"
listen:
  - 0.0.0.0:80 and [::]:80
hosts:
  one:
    file.etag: OFF
    paths:
      /:
        file.dir: /a
        expires: 1 day
      /b:
        file.dir: /b
        file.send-gzip: ON
  two:
    paths:
      /:
        file.dir: /a";
    assert_eq!(bare(&set).join("\n"), want);
    // Defaults of the process and of everything are at the top, once.
    let all = effective::text(&load(text), true);
    let top: Vec<_> = bare(&all).into_iter().filter(|line| !line.starts_with([' ', '#'])).collect();
    let names: Vec<_> = top.iter().filter_map(|line| line.split(':').next()).collect();
    for name in &names {
        let count = names.iter().filter(|other| *other == name).count();
        assert_eq!(count, if *name == "header.set" { 2 } else { 1 }, "{name}");
    }
    let below = all.lines().filter(|line| line.starts_with(' ') && line.ends_with("# default"));
    for line in below {
        let name = line.trim_start().split(':').next().unwrap_or_default();
        assert!(!names.contains(&name), "{line}");
    }
    assert!(names.contains(&"num-threads") && names.contains(&"file.symlinks"), "{names:?}");
}
