//! What is known about a request's client beyond its connection.

use hayami_net::service::{Address, ConnectionInfo};
use std::rc::Rc;

/// What the phases have found out about the client of one request. The connection of a proxy carries requests of many
/// clients, over HTTP/2 concurrently.
///
/// It is a null pointer as long as nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Client(Option<Rc<Known>>);

#[derive(Clone, Debug, Default)]
struct Known {
    address: Option<Address>,
    user: Option<User>,
}

/// An authenticated user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: Box<[u8]>,
    /// The authentication scheme: `Basic` (RFC 3875 §4.1.1).
    pub scheme: &'static str,
}

impl Client {
    /// The client's address: the connection's peer, unless a trusted proxy has forwarded another one.
    #[inline]
    pub fn address<'a>(&'a self, connection: &'a ConnectionInfo) -> &'a Address {
        let known = self.0.as_ref().and_then(|known| known.address.as_ref());
        known.unwrap_or(&connection.peer)
    }

    /// The user, if authenticated.
    pub fn user(&self) -> Option<&User> {
        self.0.as_ref()?.user.as_ref()
    }

    /// Sets the address forwarded by a trusted proxy.
    pub fn set_address(&mut self, address: Address) {
        self.known().address = Some(address);
    }

    /// Sets the authenticated user.
    pub fn set_user(&mut self, user: User) {
        self.known().user = Some(user);
    }

    fn known(&mut self) -> &mut Known {
        Rc::make_mut(self.0.get_or_insert_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;

    #[test]
    fn the_address_is_the_connections_own_until_another_one_is_known() {
        let (mut client, connection) = (Client::default(), testing::connection());
        assert_eq!(client.address(&connection), &connection.peer);
        client.set_user(User { name: (*b"amy").into(), scheme: "Basic" });
        assert_eq!(client.address(&connection), &connection.peer);
        let other = Address::Ip(([203, 0, 113, 9], 0).into());
        let before = client.clone();
        client.set_address(other.clone());
        assert_eq!(client.address(&connection), &other);
        assert_eq!(before.address(&connection), &connection.peer, "a copy stays as it was");
        assert_eq!(client.user().map(|user| &user.name[..]), Some(&b"amy"[..]));
    }
}
