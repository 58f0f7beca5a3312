//! Ticket keys in a store: machines that agree on them.

use crate::resumption::testing::{Server, free_port, odd_server, said, wait_until};
use crate::resumption::{RemoteKind, RemoteStore, Resumption, Settings, TicketStore};
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn settings(store: &RemoteStore, secret_file: Option<PathBuf>) -> Settings {
    let key = "test:tickets".to_owned();
    let tickets = Some(TicketStore::Remote { store: store.clone(), key });
    Settings { cache: None, tickets, lifetime: 3600, secret_file }
}

fn machine(settings: &Settings) -> Resumption {
    let machine = Resumption::new(settings, said().report).unwrap();
    machine.start();
    machine
}

#[test]
fn machines_that_share_a_store_open_each_others_tickets() {
    for kind in [RemoteKind::Memcached, RemoteKind::Redis] {
        let server = Server::start(kind);
        let settings = settings(&server.settings, None);
        let (one, two) = (machine(&settings), machine(&settings));
        let ticket = one.tickets.encrypt(b"session").unwrap();
        assert_eq!(two.tickets.decrypt(&ticket), Some(b"session".to_vec()), "{kind:?}");
        let ticket = two.tickets.encrypt(b"session").unwrap();
        assert_eq!(one.tickets.decrypt(&ticket), Some(b"session".to_vec()));
        assert_eq!(one.scoped(b"client-ca").tickets.decrypt(&ticket), None);
    }
}

#[test]
fn machines_that_start_at_the_same_time_agree_too() {
    for kind in [RemoteKind::Memcached, RemoteKind::Redis] {
        let server = Server::start(kind);
        let settings = settings(&server.settings, None);
        let start = |settings: Settings| std::thread::spawn(move || machine(&settings));
        let machines: Vec<_> = (0..6).map(|_| start(settings.clone())).collect();
        let machines: Vec<_> = machines.into_iter().map(|machine| machine.join().unwrap()).collect();
        let tickets: Vec<_> = machines.iter().map(|one| one.tickets.encrypt(b"session").unwrap()).collect();
        for machine in &machines {
            assert!(tickets.iter().all(|ticket| machine.tickets.decrypt(ticket).is_some()), "{kind:?}");
        }
    }
}

#[test]
fn sealed_keys_are_shared_by_those_who_know_the_secret() {
    let server = Server::start(RemoteKind::Redis);
    let file = std::env::temp_dir().join(format!("hayami-shared-secret-{}", std::process::id()));
    std::fs::write(&file, [42; 32]).unwrap();
    let sealed = settings(&server.settings, Some(file.clone()));
    let (one, two) = (machine(&sealed), machine(&sealed));
    let ticket = one.tickets.encrypt(b"session").unwrap();
    assert!(two.tickets.decrypt(&ticket).is_some());

    let said = said();
    let other = Resumption::new(&settings(&server.settings, None), said.report).unwrap();
    other.start();
    assert_eq!(other.tickets.decrypt(&ticket), None);
    assert!(other.tickets.encrypt(b"session").is_some(), "its own keys meanwhile");
    let lines = said.lines.lock().unwrap().join("\n");
    assert!(lines.contains("they are sealed, but `store-secret-file` is not set here"), "{lines}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_store_that_is_down_or_silent_delays_the_start_by_a_second_at_most() {
    let mut gone = odd_server(RemoteKind::Memcached, None);
    gone.port = free_port();
    for store in
        [gone, odd_server(RemoteKind::Memcached, None), odd_server(RemoteKind::Redis, Some(b"?\r\n"))]
    {
        let said = said();
        let start = Instant::now();
        let machine = Resumption::new(&settings(&store, None), said.report.clone()).unwrap();
        machine.start();
        assert!(start.elapsed() < Duration::from_millis(1800), "{:?}", start.elapsed());
        let ticket = machine.tickets.encrypt(b"session").unwrap();
        assert!(machine.tickets.decrypt(&ticket).is_some());
        wait_until("the failure is reported", || {
            said.lines.lock().unwrap().iter().any(|line| line.contains("is unavailable: "))
        });
    }
}

#[test]
fn tickets_made_before_the_store_came_back_are_good_afterwards() {
    let port = free_port();
    let store = RemoteStore { kind: RemoteKind::Memcached, host: "127.0.0.1".into(), port, password: None };
    // A short lifetime: the keys are looked after every second.
    let settings = Settings { lifetime: 16, ..settings(&store, None) };
    let (one, two) = (machine(&settings), machine(&settings));
    let early = one.tickets.encrypt(b"early").unwrap();
    assert_eq!(two.tickets.decrypt(&early), None);
    let _server = Server::start_at(RemoteKind::Memcached, port);
    wait_until("they agree", || {
        two.tickets.decrypt(&one.tickets.encrypt(b"late").unwrap_or_default()).is_some()
    });
    assert_eq!(one.tickets.decrypt(&early), Some(b"early".to_vec()));
}
