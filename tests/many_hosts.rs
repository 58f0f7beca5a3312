//! Many hosts: hosts in a configuration cost memory and descriptors only once they get requests.

use crate::support::{Launch, Scratch, Server};

/// How many hosts there are, each with a directory.
const HOSTS: usize = 2000;

fn configuration(dir: &Scratch) -> String {
    let mut text = "num-threads: 4\nhosts:\n".to_owned();
    for number in 0..HOSTS {
        dir.write(&format!("site{number}/a"), number.to_string());
        text += &format!("  h{number}.example: {{paths: {{/: {{file.dir: DIR/site{number}}}}}}}\n");
    }
    text
}

/// Requests a file of a host on a separate connection, whichever worker accepts it.
fn ask(server: &Server, number: usize) {
    let request = format!("GET /a HTTP/1.1\r\nHost: h{number}.example\r\n\r\n");
    assert_eq!(server.connect().send(request).answer().text(), number.to_string());
}

#[test]
fn a_directory_is_open_once_however_many_workers_serve_it_and_only_if_one_does() {
    let dir = Scratch::new();
    let text = configuration(&dir);
    // A descriptor for each directory would be too many, for each directory and worker all the more.
    let server = Launch::config(&dir, &text).after("ulimit -n 256").serve();
    let open = || {
        let links = std::fs::read_dir(format!("/proc/{}/fd", server.id())).expect("it runs").flatten();
        let targets = links.filter_map(|link| std::fs::read_link(link.path()).ok());
        targets.filter(|target| target.starts_with(dir.path("")) && target.is_dir()).count()
    };
    assert_eq!(open(), 0);
    for _ in 0..10 {
        for number in [0, 7, HOSTS - 1] {
            ask(&server, number);
        }
    }
    assert_eq!(open(), 3);
    // Connections need descriptors as well.
    for number in (0..HOSTS).step_by(50) {
        ask(&server, number);
    }
}
