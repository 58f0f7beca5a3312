//! The clients against real servers, silent ones and such that answer nonsense.

use crate::resumption::RemoteKind;
use crate::resumption::remote::Store;
use crate::resumption::testing::{Server, free_port, odd_server, said};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(5);
const KINDS: [RemoteKind; 2] = [RemoteKind::Memcached, RemoteKind::Redis];

fn store(server: &Server) -> Arc<Store> {
    Store::new(server.settings.clone(), said().report)
}

#[test]
fn values_are_kept_found_and_removed_once() {
    for kind in KINDS {
        let server = Server::start(kind);
        let store = store(&server);
        assert_eq!(store.get("key", TIME).unwrap(), None);
        let value = [b"\r\nEND\r\n\0\xff".to_vec(), vec![b'x'; 10_000]].concat();
        store.put("key", &value, 60, TIME).unwrap();
        assert_eq!(store.get("key", TIME).unwrap(), Some(value), "{kind:?}");
        store.put("key", b"", 60, TIME).unwrap();
        assert_eq!(store.get("key", TIME).unwrap(), Some(Vec::new()));
        assert!(store.remove("key", TIME).unwrap());
        assert!(!store.remove("key", TIME).unwrap());
        assert_eq!(store.get("key", TIME).unwrap(), None);
    }
}

#[test]
fn a_swap_succeeds_only_on_what_was_seen() {
    for kind in KINDS {
        let server = Server::start(kind);
        let store = store(&server);
        let swap = |old: Option<&str>, new: &str| {
            store.swap("key", old.map(str::as_bytes), new.as_bytes(), 60, TIME).unwrap()
        };
        assert!(!swap(Some("nothing"), "one"), "{kind:?}");
        assert!(swap(None, "one"));
        assert!(!swap(None, "two"));
        assert!(!swap(Some("other"), "two"));
        assert!(swap(Some("one"), "two"));
        assert_eq!(store.get("key", TIME).unwrap(), Some(b"two".to_vec()));
    }
}

#[test]
fn of_many_who_swap_at_the_same_time_one_succeeds() {
    for kind in KINDS {
        let server = Server::start(kind);
        let swappers: Vec<_> = (0..8)
            .map(|number| {
                let store = store(&server);
                std::thread::spawn(move || {
                    store.swap("key", None, format!("{number}").as_bytes(), 60, TIME).unwrap()
                })
            })
            .collect();
        let succeeded = swappers.into_iter().map(|t| t.join().unwrap()).filter(|ok| *ok).count();
        assert_eq!(succeeded, 1, "{kind:?}");
    }
}

#[test]
fn a_store_that_was_started_anew_is_spoken_to_anew() {
    for kind in KINDS {
        let server = Server::start(kind);
        let store = store(&server);
        store.put("key", b"value", 60, TIME).unwrap();
        let _server = Server::start_at(kind, server.stop());
        assert_eq!(store.get("key", TIME).unwrap(), None, "{kind:?}");
    }
}

#[test]
fn a_store_that_is_not_there_or_silent_or_odd_fails_in_time_and_is_reported_once() {
    for kind in KINDS {
        let mut gone = odd_server(kind, None);
        gone.port = free_port();
        let odd = [
            b"\r\n".as_slice(),
            b"HTTP/1.1 400 Bad\r\n\r\n",
            b"$99999999999\r\n",
            b"*-7\r\n",
            b"VALUE key 0 99999999\r\n",
            b"SERVER_ERROR out of memory\r\n",
            b"-LOADING wait\r\n",
            b":x\r\n",
        ];
        let odd = odd.map(|answer| odd_server(kind, Some(answer)));
        for settings in odd.into_iter().chain([gone, odd_server(kind, None)]) {
            let said = said();
            let store = Store::new(settings, said.report);
            let start = Instant::now();
            for _ in 0..3 {
                let time = Duration::from_millis(200);
                assert!(store.get("key", time).is_err());
                assert!(store.put("key", b"value", 60, time).is_err());
                assert!(store.is_down());
            }
            assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
            let lines = said.lines.lock().unwrap().clone();
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(lines[0].contains("127.0.0.1:") && lines[0].contains("is unavailable: "), "{lines:?}");
        }
    }
}

#[test]
fn a_store_that_answers_byte_by_byte_has_no_more_time_than_others() {
    let settings = odd_server(RemoteKind::Memcached, Some(b"V"));
    let store = Store::new(settings, said().report);
    let start = Instant::now();
    assert!(store.get("key", Duration::from_millis(200)).is_err());
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_store_that_answers_again_is_reported() {
    let server = Server::start(RemoteKind::Redis);
    let said = said();
    let store = Store::new(server.settings.clone(), said.report.clone());
    let port = server.stop();
    assert!(store.get("key", TIME).is_err());
    let _server = Server::start_at(RemoteKind::Redis, port);
    assert!(store.get("key", TIME).is_ok());
    let lines = said.lines.lock().unwrap().clone();
    assert_eq!(lines[1], format!("session resumption: Redis at 127.0.0.1:{port} is available again"));
    assert!(!store.is_down());
}
