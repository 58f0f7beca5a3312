//! Sessions in a store: a session stored by one machine is found by another.

use crate::resumption::testing::{Server, free_port, odd_server, said, wait_until};
use crate::resumption::{
    CacheStore, Lookup, RemoteKind, RemoteStore, Resumption, Settings, watch_for_missed,
};
use std::time::{Duration, Instant};

const ID: [u8; 32] = [7; 32];

fn settings(store: &RemoteStore) -> Settings {
    let (store, prefix) = (store.clone(), "test:".to_owned());
    let cache = Some(CacheStore::Remote { store, prefix, threads: 2 });
    Settings { cache, tickets: None, ..Settings::default() }
}

fn machine(store: &RemoteStore) -> Resumption {
    let machine = Resumption::new(&settings(store), said().report).unwrap();
    machine.start();
    machine
}

/// What a session does: queries, looks up if the key was missed, queries again.
fn resume(machine: &Resumption, how: impl Fn(&Resumption) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let (found, missed) = watch_for_missed(|| how(machine));
    let Some(key) = missed else { return found };
    assert_eq!(found, None);
    Lookup { key, remote: machine.remote.clone().unwrap() }.run();
    let (found, missed) = watch_for_missed(|| how(machine));
    assert_eq!(missed, None, "asked for a second time");
    found
}

#[test]
fn one_machine_resumes_what_another_has_begun() {
    for kind in [RemoteKind::Memcached, RemoteKind::Redis] {
        let server = Server::start(kind);
        let (one, two) = (machine(&server.settings), machine(&server.settings));
        assert!(one.sessions.put(ID.to_vec(), b"session".to_vec()));
        wait_until("it is there", || resume(&machine(&server.settings), |m| m.sessions.get(&ID)).is_some());
        assert_eq!(resume(&two, |m| m.sessions.get(&ID)), Some(b"session".to_vec()), "{kind:?}");
        let (again, missed) = watch_for_missed(|| two.sessions.get(&ID));
        assert_eq!((again, missed), (Some(b"session".to_vec()), None), "kept");
        assert_eq!(resume(&two.scoped(b"other"), |m| m.sessions.get(&ID)), None);
    }
}

#[test]
fn of_machines_that_take_a_session_one_gets_it() {
    for kind in [RemoteKind::Memcached, RemoteKind::Redis] {
        let server = Server::start(kind);
        let one = machine(&server.settings);
        one.sessions.put(ID.to_vec(), b"session".to_vec());
        wait_until("it is there", || resume(&machine(&server.settings), |m| m.sessions.get(&ID)).is_some());
        let takers: Vec<_> = (0..4)
            .map(|_| {
                let machine = machine(&server.settings);
                std::thread::spawn(move || resume(&machine, |m| m.sessions.take(&ID)))
            })
            .collect();
        let taken = takers.into_iter().filter_map(|taker| taker.join().unwrap()).count();
        assert_eq!(taken, 1, "{kind:?}");
    }
}

#[test]
fn what_is_taken_from_memory_leaves_the_store_too() {
    let server = Server::start(RemoteKind::Memcached);
    let one = machine(&server.settings);
    one.sessions.put(ID.to_vec(), b"session".to_vec());
    wait_until("it is there", || resume(&machine(&server.settings), |m| m.sessions.get(&ID)).is_some());
    assert!(one.sessions.take(&ID).is_some());
    wait_until("it is gone", || resume(&machine(&server.settings), |m| m.sessions.get(&ID)).is_none());
}

#[test]
fn identifiers_that_are_not_ours_are_not_looked_up() {
    let server = Server::start(RemoteKind::Redis);
    let machine = machine(&server.settings);
    for id in [&b"short"[..], &[0; 31], &[0; 33], b""] {
        assert_eq!(watch_for_missed(|| machine.sessions.get(id)), (None, None));
    }
}

#[test]
fn a_worker_never_waits_and_a_lookup_not_long_whatever_the_store_does() {
    let mut gone = odd_server(RemoteKind::Redis, None);
    gone.port = free_port();
    let garbage = odd_server(RemoteKind::Memcached, Some(b"VALUE x 0 3\r\nabc\r\nEND\r\n"));
    for store in [gone, odd_server(RemoteKind::Memcached, None), garbage] {
        let machine = machine(&store);
        let start = Instant::now();
        for number in 0_u32..10_000 {
            machine.sessions.put(number.to_be_bytes().repeat(8), b"session".to_vec());
        }
        assert!(machine.sessions.get(&1_u32.to_be_bytes().repeat(8)).is_some(), "memory goes on");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        let start = Instant::now();
        assert_eq!(resume(&machine, |m| m.sessions.get(&ID)), None);
        assert!(start.elapsed() < Duration::from_millis(700), "{:?}", start.elapsed());
        wait_until("it is seen to be down", || {
            watch_for_missed(|| machine.sessions.get(&[9; 32])) == (None, None)
        });
    }
}
