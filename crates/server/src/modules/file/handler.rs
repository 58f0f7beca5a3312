//! `file.dir` and `file.file`: handles requests, from the path to the cache, the disk, and the response.
//!
//! The fast path is [`FileHandler::handle`] with a fresh entry; everything else is in functions of its own: validation
//! (one statx per watched path, which blocks only if the kernel has evicted a name it knew when the entry was made),
//! loading on the event loop from the kernel's memory, loading on a thread of the blocking pool.

use super::cache::FileCache;
use super::custom::Filters;
use super::entry::{Entry, Found, ServedFile};
use super::listing::{ListingQuery, View};
use super::load::{self, Failure, Wanted, load};
use super::loading::Loading;
use super::root::{Patience, Root};
use super::roots::RootSlot;
use super::{Plan, frequent, respond};
use crate::feature::RouteContext;
use crate::handler::{Delegated, Exchange, Handler, IndexFile, Outcome, RequestInfo};
use crate::script::Script;
use hayami_http::{RequestHead, Response};
use hayami_net::Clock;
use hayami_net::Instant;
use hayami_net::blocking::{self, Lane};
use rustix::io::Errno;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Most scripts in front of one path to look for. A legitimate path has one.
const MOST_FRONTS: usize = 8;

/// Which files a handler serves.
pub(super) enum FileMapping {
    /// All files below the root, by the path behind the prefix.
    Below,
    /// The file of this name in the root, whatever the path behind the prefix.
    Only(Box<[u8]>),
}

/// Serves a directory or a file. Shared with responses that are completed later.
pub(super) struct FileHandler(Rc<Server>);

struct Server {
    place: FileMapping,
    root: Rc<RootSlot>,
    /// Part of every cache key; changes when another directory takes the root's place.
    id: Cell<u32>,
    plan: Arc<Plan>,
    /// Filters, by index of the rule of `file.custom-handler`.
    rules: Vec<Filters>,
    /// Handlers, by index of the same rules.
    handlers: Vec<Option<Rc<dyn Handler>>>,
    has_scripts: bool,
    /// The absolute path of the root, for scripts.
    absolute: Rc<Path>,
    interval: Duration,
    /// Files up to this many bytes are copied to memory when they are requested often.
    most_frequent: u64,
    files: Rc<FileCache>,
    loading: Loading,
    clock: Rc<Clock>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.files.forget_handler(self.id.get());
    }
}

impl FileHandler {
    /// Opens the root, if it exists.
    ///
    /// # Errors
    /// This system can never serve it as configured.
    pub(super) fn open(
        place: FileMapping,
        path: PathBuf,
        handlers: Vec<Option<Rc<dyn Handler>>>,
        route: &RouteContext<'_>,
    ) -> Result<Self, Errno> {
        let (settings, worker) = (route.inherited.get::<super::Settings>(), route.worker);
        let plan = Plan::new(settings, route);
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone()).into();
        let root = Rc::new(RootSlot::new(path, settings.symlinks));
        if root.follow(worker.clock.now()) == Err(Errno::NOSYS) {
            return Err(Errno::NOSYS);
        }
        let files = worker.get::<FileCache>();
        files.close_idle_files(&worker.clock);
        files.close_when_idle(&root);
        Ok(Self(Rc::new(Server {
            place,
            absolute,
            root,
            id: Cell::new(files.new_handler()),
            has_scripts: plan.rules.has_scripts(),
            plan: Arc::new(plan),
            rules: settings.rules.filters(route),
            handlers,
            interval: settings.revalidate,
            most_frequent: settings.max_frequent_file_size,
            files,
            loading: Loading::default(),
            clock: Rc::clone(&worker.clock),
        })))
    }
}

impl Handler for FileHandler {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let server = &*self.0;
        let now = server.clock.now();
        if server.root.is_due(now, server.interval)
            && let Err(error) = server.follow_root(now)
        {
            return server.without_root(error);
        }
        if server.has_scripts
            && let Some(outcome) = self.script_in_front(exchange, now)
        {
            return outcome;
        }
        let key = server.key(exchange.path, exchange.below);
        if let Some(entry) = server.files.get(server.id.get(), key)
            && (entry.is_fresh(now, server.interval) || server.revalidate(&entry, now))
        {
            let mut outcome = server.answer(&entry, exchange.head, exchange.path, exchange.below);
            if let Some(response) = answered(&mut outcome) {
                let place = (&*server.files, server.id.get(), key);
                frequent::answer_from_memory(exchange, &entry, place, server.most_frequent, response);
            }
            return outcome;
        }
        self.load_now(exchange, now)
    }
}

/// The response of an outcome that is complete.
#[inline]
fn answered(outcome: &mut Outcome) -> Option<&mut Response> {
    match outcome {
        Outcome::Ready(response) => Some(response),
        Outcome::Index(index) => Some(&mut index.response),
        _ => None,
    }
}

impl FileHandler {
    /// Loads the entry from the kernel's memory, if that suffices.
    fn load_now(&self, exchange: &Exchange<'_>, now: Instant) -> Outcome {
        let server = &*self.0;
        match server.load(exchange.path, exchange.below, now) {
            Err(Failure::WouldBlock) => self.load_later(exchange, now),
            Err(failure) => server.failed(failure, exchange.path),
            Ok(entry) => {
                let entry = server.keep(server.id.get(), exchange.path, exchange.below, entry);
                server.answer(&entry, exchange.head, exchange.path, exchange.below)
            }
        }
    }

    /// Handles a path that only begins with that of a script: `/index.php` of `/index.php/a`.
    fn script_in_front(&self, exchange: &Exchange<'_>, now: Instant) -> Option<Outcome> {
        let (server, path) = (&*self.0, exchange.path);
        for end in server.fronts(path, exchange.below) {
            let front = &path[..end];
            let key = server.key(front, exchange.below);
            let entry = match server.files.get(server.id.get(), key) {
                Some(entry) if entry.is_fresh(now, server.interval) || server.revalidate(&entry, now) => {
                    entry
                }
                _ => match server.load(front, exchange.below, now) {
                    Ok(entry) => server.keep(server.id.get(), front, exchange.below, entry),
                    Err(Failure::WouldBlock) => return Some(self.load_later(exchange, now)),
                    Err(_) => continue,
                },
            };
            if let Some(outcome) = server.script(&entry, front, &path[end..], exchange.below) {
                return Some(outcome);
            }
        }
        None
    }

    /// Loads the entry on a thread of the blocking pool, starting with those of scripts in front of the path.
    fn load_later(&self, exchange: &Exchange<'_>, now: Instant) -> Outcome {
        let server = Rc::clone(&self.0);
        let head = exchange.head.clone();
        let (path, below) = (exchange.path.to_vec(), exchange.below);
        // What is found below one root must not be cached for the next.
        let id = server.id.get();
        Outcome::later(async move {
            for end in server.fronts(&path, below) {
                if let Ok(entry) = server.load_together(id, &path[..end], below, now).await
                    && let Some(outcome) = server.script(&entry, &path[..end], &path[end..], below)
                {
                    return outcome;
                }
            }
            match server.load_together(id, &path, below, now).await {
                Ok(entry) => server.answer(&entry, &head, &path, below),
                Err(failure) => server.failed(failure, &path),
            }
        })
    }
}

impl Server {
    /// The part of the path that distinguishes entries in the cache.
    #[inline]
    fn key<'a>(&self, path: &'a [u8], below: usize) -> &'a [u8] {
        match self.place {
            // With prefix `/a`, `/a` and `/a/` have different responses, but both have an empty rest.
            FileMapping::Below if below >= path.len() && path.ends_with(b"/") => b"/",
            FileMapping::Below => path.get(below..).unwrap_or_default(),
            FileMapping::Only(_) => b"",
        }
    }

    /// The ends of possible scripts that are only the front of a path, up to the limit.
    fn fronts<'a>(&'a self, path: &'a [u8], below: usize) -> impl Iterator<Item = usize> + use<'a> {
        let looks = self.has_scripts && matches!(self.place, FileMapping::Below);
        let slashes = (below + 1..path.len()).filter(move |at| looks && path[*at] == b'/');
        let is_script = move |at: &usize| self.plan.rules.script(&path[below..*at]).is_some();
        slashes.filter(is_script).take(MOST_FRONTS)
    }

    fn wanted<'a>(&'a self, path: &'a [u8], below: usize) -> Wanted<'a> {
        match &self.place {
            FileMapping::Below => Wanted::Path { path: path.get(below..).unwrap_or_default(), shown: path },
            FileMapping::Only(name) => Wanted::File(name),
        }
    }

    #[cold]
    fn follow_root(&self, now: Instant) -> Result<(), Errno> {
        if self.root.follow(now)? {
            self.files.forget_handler(self.id.replace(self.files.new_handler()));
        }
        Ok(())
    }

    /// The open directory.
    fn root(&self) -> Result<Arc<Root>, Failure> {
        self.root.get().ok_or(Failure::Io(Errno::NOENT))
    }

    fn revalidate(&self, entry: &Entry, now: Instant) -> bool {
        self.root.is_some_and(|root| entry.revalidate(root, now))
    }

    #[cold]
    fn without_root(&self, error: Errno) -> Outcome {
        match error {
            Errno::NOENT | Errno::NOTDIR => Outcome::Declined,
            Errno::ACCESS | Errno::PERM | Errno::LOOP => Outcome::Ready(respond::forbidden()),
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
                self.files.release_descriptors();
                Outcome::Ready(respond::exhausted())
            }
            other => self.failed(Failure::Io(other), b""),
        }
    }

    /// Loads on the event loop; if descriptors have run out, once more after the cache has released its own.
    fn load(&self, path: &[u8], below: usize, now: Instant) -> Result<Entry, Failure> {
        let root = self.root()?;
        let wanted = self.wanted(path, below);
        match load(&root, &self.plan, wanted, Patience::None, now) {
            Err(Failure::Exhausted) => {
                self.files.release_descriptors();
                load(&root, &self.plan, wanted, Patience::None, now)
            }
            loaded => loaded,
        }
    }

    /// Loads in the blocking pool, once for all concurrent requests for the path.
    async fn load_together(
        &self,
        id: u32,
        path: &[u8],
        below: usize,
        now: Instant,
    ) -> Result<Rc<Entry>, Failure> {
        let key = self.key(path, below);
        // With interval zero, a request must not get what another one has read from disk before.
        while !self.interval.is_zero() && self.loading.wait_for(key).await {
            if let Some(entry) = self.files.get(id, key)
                && entry.is_fresh(now, self.interval)
            {
                return Ok(entry);
            }
        }
        let _load = self.loading.begin(key);
        let mut loaded = self.load_in_pool(path, below, now).await;
        if loaded.as_ref().err() == Some(&Failure::Exhausted) {
            self.files.release_descriptors();
            loaded = self.load_in_pool(path, below, now).await;
        }
        loaded.map(|entry| self.keep(id, path, below, entry))
    }

    async fn load_in_pool(&self, path: &[u8], below: usize, now: Instant) -> Result<Entry, Failure> {
        let (root, plan) = (self.root()?, Arc::clone(&self.plan));
        let wanted = OwnedWanted::of(self.wanted(path, below));
        let task = move || load(&root, &plan, wanted.borrow(), Patience::Unlimited, now);
        // The task does not panic; it is rejected if too many tasks wait for the disk.
        blocking::run(Lane::Files, task).await.unwrap_or(Err(Failure::Exhausted))
    }

    fn keep(&self, id: u32, path: &[u8], below: usize, entry: Entry) -> Rc<Entry> {
        let entry = Rc::new(entry);
        self.files.insert(id, self.key(path, below), Rc::clone(&entry));
        entry
    }

    #[inline]
    fn answer(&self, entry: &Entry, head: &RequestHead, path: &[u8], below: usize) -> Outcome {
        match entry.found {
            Found::Absent => return Outcome::Declined,
            Found::Script(..) => {
                let info = if let FileMapping::Below = self.place { path.len() } else { below };
                let script = self.script(entry, path, &path[info..], below);
                return script.unwrap_or(Outcome::Declined);
            }
            _ => {}
        }
        if let Found::File(file @ ServedFile { index: Some(name), .. }) = &entry.found {
            return self.index(file, name, head, path);
        }
        if let Some(response) = respond::other_method(head.method()) {
            return Outcome::Ready(response);
        }
        Outcome::Ready(match &entry.found {
            Found::File(file) => self.file(file, head, path),
            Found::Listing(listing) => match ListingQuery::parse(head.query()) {
                ListingQuery::Plain => respond::representation(listing, head, self.clock.unix()),
                ListingQuery::Style => respond::style(head, self.clock.unix()),
                ListingQuery::View(view) => return self.list_later(path, below, view),
            },
            Found::Directory(behind) => respond::to_directory(path, behind, head.query()),
            Found::Forbidden | Found::Absent | Found::Script(..) => respond::forbidden(),
        })
    }

    fn file(&self, file: &ServedFile, head: &RequestHead, path: &[u8]) -> Response {
        let mut response = respond::file(file, head, self.clock.unix());
        if let Some(rule) = file.rule {
            self.rules[rule].apply(&RequestInfo { head, path, tunnel: false }, &mut response);
        }
        response
    }

    /// The index file of a directory. If another path handles it, that one may allow other methods.
    #[cold]
    fn index(&self, file: &ServedFile, name: &Arc<[u8]>, head: &RequestHead, path: &[u8]) -> Outcome {
        let response = respond::other_method(head.method()).unwrap_or_else(|| self.file(file, head, path));
        Outcome::Index(Box::new(IndexFile { name: Arc::clone(name), response }))
    }

    /// Lists a directory in another view. That takes a while, so it runs in a separate lane of the blocking pool.
    #[cold]
    fn list_later(&self, path: &[u8], below: usize, view: View) -> Outcome {
        let root = match self.root() {
            Ok(root) => root,
            Err(failure) => return self.failed(failure, path),
        };
        let (shown, place) = (path.to_vec(), self.root.path().to_owned());
        Outcome::later(async move {
            let title = shown.clone();
            let task = move || load::view(&root, title.get(below..).unwrap_or_default(), &title, &view);
            match blocking::run(Lane::Listings, task).await.unwrap_or(Err(Failure::Exhausted)) {
                Ok(page) => Outcome::Ready(respond::listing(page)),
                Err(failure) => failed(failure, &place, &shown),
            }
        })
    }

    /// Passes a request to the handler of a script, with `info` behind its name.
    fn script(&self, entry: &Entry, path: &[u8], info: &[u8], below: usize) -> Option<Outcome> {
        let Found::Script(rule, file) = &entry.found else { return None };
        let handler = Rc::clone(self.handlers.get(*rule)?.as_ref()?);
        let prefix = &path[..below.min(path.len())];
        let script = Script::new(prefix, Rc::clone(&self.absolute), file, info);
        Some(Outcome::Delegated(Box::new(Delegated { handler, script })))
    }

    fn failed(&self, failure: Failure, path: &[u8]) -> Outcome {
        failed(failure, self.root.path(), path)
    }
}

#[cold]
fn failed(failure: Failure, root: &Path, path: &[u8]) -> Outcome {
    match failure {
        Failure::Exhausted | Failure::WouldBlock => Outcome::Ready(respond::exhausted()),
        Failure::Io(error) => {
            let (root, path) = (root.display(), String::from_utf8_lossy(path));
            let reason = format!("cannot read the file for {path:?} below {root}: {error}");
            Outcome::Failed { response: respond::broken(), reason }
        }
    }
}

/// A [`Wanted`] that can be sent to another thread.
enum OwnedWanted {
    Path { path: Vec<u8>, shown: Vec<u8> },
    File(Vec<u8>),
}

impl OwnedWanted {
    fn of(wanted: Wanted<'_>) -> Self {
        match wanted {
            Wanted::Path { path, shown } => Self::Path { path: path.to_vec(), shown: shown.to_vec() },
            Wanted::File(path) => Self::File(path.to_vec()),
        }
    }

    fn borrow(&self) -> Wanted<'_> {
        match self {
            Self::Path { path, shown } => Wanted::Path { path, shown },
            Self::File(path) => Wanted::File(path),
        }
    }
}
