//! Staples from a real responder, from files and commands, and from faulty sources.

mod authority;

use super::fetcher::Task;
use super::request::{cert_id, request};
use super::response::check;
use super::subject::Subject;
use super::{Fetcher, Job, Settings, Source, http};
use crate::resumption::clock::unix_now;
use crate::resumption::testing::{Said, said, wait_until};
use authority::{Authority, SERIAL, Signer};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn job(authority: &Authority, source: Source) -> Job {
    let settings = Settings { source, ..Settings::default() };
    let certificate_file = PathBuf::from("leaf.pem");
    Job { certificate_file, chain: authority.chain(), staple: Arc::default(), settings }
}

/// A response for the authority's certificate, from the responder.
fn response(chain: &[Vec<u8>], url: &str) -> Vec<u8> {
    let (certificate, issuer) = (Subject::read(&chain[0]).unwrap(), Subject::read(&chain[1]).unwrap());
    http::post(url, &request(&cert_id(&certificate, &issuer))).unwrap()
}

fn asked(authority: &Authority, status: &str, signer: Signer) -> (Vec<Vec<u8>>, Vec<u8>) {
    let _responder = authority.responder(status, signer);
    let chain = authority.chain();
    let url = Subject::read(&chain[0]).unwrap().responder.unwrap().to_owned();
    let response = response(&chain, &url);
    (chain, response)
}

#[test]
fn a_certificate_tells_serial_and_responder() {
    let authority = Authority::new("subject");
    let chain = authority.chain_with(Some("http://ocsp.example.org/x"), SERIAL);
    let subject = Subject::read(&chain[0]).unwrap();
    assert_eq!((subject.serial, subject.responder), (SERIAL, Some("http://ocsp.example.org/x")));
    assert_eq!(subject.issuer, Subject::read(&chain[1]).unwrap().name);
    assert_eq!(Subject::read(&authority.other_chain()[0]).unwrap().responder, None);
    for len in 0..chain[0].len() {
        assert!(Subject::read(&chain[0][..len]).is_none(), "cut at {len}");
    }
}

#[test]
fn the_responder_that_the_certificate_names_is_asked() {
    for signer in [Signer::Issuer, Signer::Delegate] {
        let authority = Authority::new(&format!("good-{signer:?}"));
        let _responder = authority.responder("V", signer);
        let (job, Said { report, lines }) = (job(&authority, Source::Responder), said());
        let staple = job.staple.clone();
        let fetcher = Fetcher::start(vec![job], 10, &report);
        wait_until("there is a staple", || staple.current().is_some());
        assert!(lines.lock().unwrap().is_empty(), "{lines:?}");
        drop(fetcher);
    }
}

#[test]
fn a_revoked_certificate_is_stapled_and_reported() {
    let authority = Authority::new("revoked");
    let _responder = authority.responder("R", Signer::Issuer);
    let (job, Said { report, lines }) = (job(&authority, Source::Responder), said());
    let staple = job.staple.clone();
    Task::new(job).unwrap().run(unix_now(), &report);
    assert!(staple.current().is_some());
    let want = "the certificate in leaf.pem is revoked according to its OCSP responder: replace it";
    assert_eq!(*lines.lock().unwrap(), [want]);
}

#[test]
fn a_response_has_to_be_of_now_for_this_certificate_and_signed_by_its_issuer() {
    let (authority, stranger) = (Authority::new("check"), Authority::new("stranger"));
    let now = unix_now();
    let (chain, good) = asked(&authority, "V", Signer::Delegate);
    assert_eq!(check(&good, &chain, now).map(|checked| checked.is_revoked), Ok(false));
    assert!(check(&good, &chain, now).unwrap().next_update.is_some_and(|next| next > now + 3000));

    assert_eq!(check(&good, &chain, now + 7200), Err("the response is out of date"));
    let early = check(&good, &chain, now - 7200);
    assert!(early.is_err(), "its signer's certificate, or the response, is not valid yet: {early:?}");
    let other = authority.other_chain();
    assert_eq!(check(&good, &other, now), Err("the response is for another certificate"));
    let theirs = vec![chain[0].clone(), stranger.chain()[1].clone()];
    assert_eq!(check(&good, &theirs, now), Err("the response is for another certificate"));
    assert_eq!(check(&good, &[], now), Err("there is no certificate"));
    assert!(check(&good, &chain[..1], now).is_ok(), "without the issuer the rest is checked");

    let (chain, forged) = asked(&authority, "V", Signer::Impostor);
    assert_eq!(check(&forged, &chain, now), Err("the response is not signed by the issuer"));
    let (chain, unknown) = asked(&authority, "", Signer::Issuer);
    assert_eq!(check(&unknown, &chain, now), Err("the responder doesn't know the certificate"));
}

#[test]
fn a_response_that_was_changed_or_cut_is_refused() {
    let authority = Authority::new("changed");
    let (chain, good) = asked(&authority, "V", Signer::Issuer);
    let now = unix_now();
    for at in 0..good.len() {
        assert!(check(&good[..at], &chain, now).is_err(), "cut at {at}");
    }
    // Everything that counts is signed, or is the signature. The issuer's certificate in the response is
    // ignored.
    let certificate = good.windows(64).position(|window| window == &chain[1][..64]).unwrap();
    for at in 0..certificate - 16 {
        let mut wrong = good.clone();
        wrong[at] ^= 0x01;
        assert!(check(&wrong, &chain, now).is_err(), "changed at {at}");
    }
}

#[test]
fn errors_of_a_responder_are_told_apart() {
    let authority = Authority::new("errors");
    let chain = authority.chain();
    for (code, want) in [
        (1, "the responder reports that the request is malformed"),
        (2, "the responder has an internal error"),
        (3, "the responder reports that it is busy; try later"),
        (6, "the responder doesn't know this certificate's issuer"),
        (5, "the responder answers with an error"),
        (0, "the response is not an OCSP response"),
    ] {
        assert_eq!(check(&[0x30, 3, 0x0a, 1, code], &chain, 0), Err(want));
    }
    proptest::proptest!(|(bytes: Vec<u8>)| {
        assert!(check(&bytes, &chain, 0).is_err());
    });
}

#[test]
fn a_file_is_stapled_at_once_and_read_again() {
    let authority = Authority::new("file");
    let (chain, good) = asked(&authority, "V", Signer::Issuer);
    let path = authority.path("staple.der");
    std::fs::write(&path, &good).unwrap();
    let (mut job, Said { report, lines }) = (job(&authority, Source::File(path.clone())), said());
    (job.chain, job.settings.interval) = (chain, 0);
    let _fetcher = Fetcher::start(vec![job.clone()], 10, &report);
    assert_eq!(job.staple.current().as_deref(), Some(&good), "there when `start` returns");

    let mut task = Task::new(job.clone()).unwrap();
    std::fs::write(&path, b"garbage").unwrap();
    task.run(unix_now(), &report);
    assert!(job.staple.current().is_some(), "one failure leaves it");
    let said = lines.lock().unwrap().join("\n").replace(&path.display().to_string(), "FILE");
    let want = "OCSP: no response for leaf.pem from FILE: the response is not an OCSP response; the \
                previous response stays";
    assert_eq!(said, want);
}

#[test]
fn a_command_gets_the_certificates_file_and_prints_a_response() {
    use std::os::unix::fs::PermissionsExt;
    let authority = Authority::new("command");
    let (chain, good) = asked(&authority, "V", Signer::Issuer);
    std::fs::write(authority.path("staple.der"), &good).unwrap();
    let script = authority.path("fetch");
    let folder = authority.folder.display();
    authority
        .write("fetch", &format!("#!/bin/sh\ntest \"$1\" = leaf.pem || exit 75\ncat {folder}/staple.der\n"));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (mut job, Said { report, lines }) = (job(&authority, Source::Command(script)), said());
    job.chain = chain;
    Task::new(job.clone()).unwrap().run(unix_now(), &report);
    assert_eq!(job.staple.current().as_deref(), Some(&good), "{lines:?}");

    let mut wrong = Task::new(Job { certificate_file: "other.pem".into(), ..job }).unwrap();
    wrong.run(unix_now(), &report);
    assert!(lines.lock().unwrap()[0].contains("it ends with exit status: 75"), "{lines:?}");
}

#[test]
fn a_staple_is_withdrawn_after_three_failures_or_when_it_is_out_of_date() {
    let authority = Authority::new("withdrawn");
    for late in [false, true] {
        let responder = authority.responder("V", Signer::Issuer);
        let (job, Said { report, lines }) = (job(&authority, Source::Responder), said());
        let (staple, now) = (job.staple.clone(), unix_now());
        let mut task = Task::new(job).unwrap();
        task.run(now, &report);
        assert!(staple.current().is_some(), "{lines:?}");
        drop(responder);
        let then = if late { now + 7200 } else { now };
        task.run(then, &report);
        assert_eq!(staple.current().is_none(), late);
        task.run(then, &report);
        assert_eq!(staple.current().is_none(), late);
        task.run(then, &report);
        assert!(staple.current().is_none());
        assert!(task.due <= then + 600, "it is tried again soon");
        let responder = authority.responder("V", Signer::Issuer);
        task.run(now, &report);
        assert!(staple.current().is_some());
        let lines = lines.lock().unwrap();
        assert_eq!(lines.last().unwrap(), "OCSP: leaf.pem has a response again");
        assert!(lines.len() <= 3, "the same is said once: {lines:?}");
        drop(responder);
    }
}

#[test]
fn responses_are_fetched_at_the_interval_and_before_they_are_out_of_date() {
    let authority = Authority::new("interval");
    let _responder = authority.responder("V", Signer::Issuer);
    for (interval, span) in [(14_400, 1700..=1801), (1000, 900..=1100)] {
        let (mut job, Said { report, .. }) = (job(&authority, Source::Responder), said());
        job.settings.interval = interval;
        let (mut task, now) = (Task::new(job).unwrap(), unix_now());
        task.run(now, &report);
        assert!(span.contains(&(task.due - now)), "{} of {interval}", task.due - now);
    }
}

#[test]
fn there_is_nothing_to_do_without_a_responder_or_when_it_is_off() {
    let authority = Authority::new("nothing");
    let off = |mut job: Job| {
        job.settings.interval = 0;
        job
    };
    assert!(Task::new(off(job(&authority, Source::Responder))).is_none());
    assert!(
        Task::new(Job { chain: authority.other_chain(), ..job(&authority, Source::Responder) }).is_none()
    );
    let (lonely, Said { report, lines }) = (job(&authority, Source::Responder), said());
    let chain = vec![lonely.chain[0].clone()];
    Task::new(Job { chain, ..lonely }).unwrap().run(unix_now(), &report);
    assert!(lines.lock().unwrap()[0].contains("the file has no certificate of the issuer: append it"));
}

/// Serves one request with `answer`, whatever the request is.
fn answers_once(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(answer);
    });
    url
}

#[test]
fn whatever_answers_it_is_an_error_in_time_and_no_panic() {
    let start = Instant::now();
    for (answer, want) in [
        (&b""[..], "ClosedEarly"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "it answers with status 404"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "ContentTooLarge"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "ClosedEarly"),
        (b"SSH-2.0-OpenSSH\r\n", ""),
    ] {
        let error = http::post(&answers_once(answer), b"question").unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    let fine = answers_once(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end");
    assert_eq!(http::post(&fine, b"question").unwrap(), b"until the end");
    assert!(start.elapsed() < Duration::from_secs(5));
}
