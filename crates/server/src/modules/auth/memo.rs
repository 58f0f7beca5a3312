//! A cache of recent password checks.
//!
//! A browser sends the password with every request, and a check takes a tenth of a second. The cache holds a keyed hash
//! of name, password and stored password: the password cannot be recovered from it, and once the file changes the
//! user's password, or removes it, the entry no longer matches.

use super::password::Stored;
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use aws_lc_rs::rand::SystemRandom;
use hayami_net::Instant;
use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

/// The longest a result is valid after its last use. The passwords for the resources of a page come within seconds;
/// reading the page takes longer.
const HOLDS: Duration = Duration::from_secs(60);

/// Most right passwords that one worker caches, and wrong ones: guesses do not evict valid users.
const MOST_RIGHT: usize = 4096;
const MOST_WRONG: usize = 256;

/// Identifies credentials and the stored password they were checked against.
pub(super) type Tag = [u8; 32];

thread_local! {
    /// The cache of a worker, shared by all paths.
    static MEMO: RefCell<Option<Memo>> = const { RefCell::new(None) };
}

/// Returns whether a password is right, if a recent check is cached, and the tag to pass to [`note`]. The tag is
/// `None` without a random key: then every password is checked.
pub(super) fn recall(
    user: &[u8],
    password: &[u8],
    stored: &Stored,
    now: Instant,
) -> (Option<bool>, Option<Tag>) {
    MEMO.with_borrow_mut(|memo| {
        let memo = match memo {
            Some(memo) => memo,
            none => match Memo::new(now) {
                Ok(new) => none.insert(new),
                Err(Unspecified) => return (None, None),
            },
        };
        let tag = memo.tag(user, password, stored);
        (memo.recall(&tag, now), Some(tag))
    })
}

/// Caches the result of a check.
pub(super) fn note(tag: Option<Tag>, right: bool, now: Instant) {
    MEMO.with_borrow_mut(|memo| {
        if let (Some(memo), Some(tag)) = (memo, tag) {
            memo.note(tag, right, now);
        }
    });
}

struct Memo {
    key: hmac::Key,
    right: Recent,
    wrong: Recent,
}

impl Memo {
    fn new(now: Instant) -> Result<Self, Unspecified> {
        let key = hmac::Key::generate(HMAC_SHA256, &SystemRandom::new())?;
        Ok(Self { key, right: Recent::new(MOST_RIGHT, now), wrong: Recent::new(MOST_WRONG, now) })
    }

    fn tag(&self, user: &[u8], password: &[u8], stored: &Stored) -> Tag {
        let mut context = hmac::Context::with_key(&self.key);
        // Neither a name nor a stored password contains a colon.
        for part in [user, b":", stored.text().as_bytes(), b":", password] {
            context.update(part);
        }
        let mut tag = Tag::default();
        tag.copy_from_slice(context.sign().as_ref());
        tag
    }

    fn recall(&mut self, tag: &Tag, now: Instant) -> Option<bool> {
        if self.right.contains(tag, now) {
            return Some(true);
        }
        self.wrong.contains(tag, now).then_some(false)
    }

    fn note(&mut self, tag: Tag, right: bool, now: Instant) {
        let recent = if right { &mut self.right } else { &mut self.wrong };
        recent.insert(tag, now);
    }
}

/// Recently used tags, in two generations: the older one is dropped as a whole.
struct Recent {
    most: usize,
    newer: HashSet<Tag>,
    older: HashSet<Tag>,
    /// When the newer generation began.
    since: Instant,
}

impl Recent {
    fn new(most: usize, now: Instant) -> Self {
        Self { most, newer: HashSet::new(), older: HashSet::new(), since: now }
    }

    fn contains(&mut self, tag: &Tag, now: Instant) -> bool {
        self.expire(now);
        if self.newer.contains(tag) {
            return true;
        }
        let known = self.older.remove(tag);
        if known {
            self.insert(*tag, now);
        }
        known
    }

    fn insert(&mut self, tag: Tag, now: Instant) {
        self.expire(now);
        if self.newer.len() >= self.most / 2 {
            self.turn(now);
        }
        self.newer.insert(tag);
    }

    /// Tags expire after between half and all of [`HOLDS`].
    fn expire(&mut self, now: Instant) {
        let age = now.saturating_duration_since(self.since);
        if age >= HOLDS / 2 {
            self.turn(now);
        }
        if age >= HOLDS {
            self.older.clear();
        }
    }

    fn turn(&mut self, now: Instant) {
        self.older = std::mem::take(&mut self.newer);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: usize) -> Tag {
        let mut tag = Tag::default();
        tag[..8].copy_from_slice(&number.to_be_bytes());
        tag
    }

    #[test]
    fn a_result_holds_for_a_minute_after_its_last_use_at_most() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut recent = Recent::new(100, start);
        recent.insert(tag(1), at(0));
        for seconds in [0, 29, 58, 87] {
            assert!(recent.contains(&tag(1), at(seconds)), "{seconds}");
        }
        assert!(!recent.contains(&tag(1), at(87 + 60)));
        assert!(!recent.contains(&tag(2), at(87 + 60)));
    }

    #[test]
    fn no_more_results_are_kept_than_there_may_be() {
        let now = Instant::now();
        let mut recent = Recent::new(100, now);
        for number in 0..1000 {
            recent.insert(tag(number), now);
            assert!(recent.newer.len() + recent.older.len() <= 100);
            assert!(recent.contains(&tag(number), now));
        }
    }

    #[test]
    fn a_tag_is_of_the_name_the_password_and_what_is_stored() {
        let stored = |text| Stored::parse(text).expect("a password");
        let (one, other) = (
            stored("$apr1$tzFGqvBh$sct63ESNHPh2ADluBMaqk0"),
            stored("$apr1$jZcQR0je$5lpDHEL9TskdC3WoWP6Kf0"),
        );
        let now = Instant::now();
        let (known, tag) = recall(b"amy", b"secret", &one, now);
        assert_eq!(known, None);
        note(tag, true, now);
        assert_eq!(recall(b"amy", b"secret", &one, now).0, Some(true));
        for (user, password, stored) in
            [(&b"amy"[..], &b"secret2"[..], &one), (b"bob", b"secret", &one), (b"amy", b"secret", &other)]
        {
            let (known, tag) = recall(user, password, stored, now);
            assert_eq!(known, None);
            note(tag, false, now);
            assert_eq!(recall(user, password, stored, now).0, Some(false));
        }
    }
}
