//! Who holds points: the name of an account, within a tenant or without one, and what is known of it.
//!
//! Keeps the scopes of keys apart: two different pairs of tenant and name are never the same account.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Balance, Field, InvalidCommand, text};

/// The name of an account, optionally within a tenant.
///
/// Accounts need no opening: any valid name holds zero points until something is granted to it. The same name under
/// another tenant is another account, and so is the same name without a tenant.
///
/// A name has 1 to [`NAME_MAX`](Self::NAME_MAX) bytes of UTF-8, a tenant up to [`TENANT_MAX`](Self::TENANT_MAX), where
/// none at all means *no tenant*. Neither may be blank or contain a control character. Both are compared byte for
/// byte; the order is by tenant, then by name. Cloning copies no text.
///
/// In serde it is a structure of `tenant` (which may be left out) and `name`; other fields are refused, so that a
/// misspelt `tenant` cannot silently reach another account.
///
/// # Examples
///
/// ```
/// use pointstore::AccountId;
///
/// let ada = AccountId::new("ada")?;
/// let other = AccountId::in_tenant("shop-7", "ada")?;
/// assert_ne!(ada, other);
/// assert_eq!((other.tenant(), other.name()), (Some("shop-7"), "ada"));
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AccountId {
    /// The tenant, then the name, without anything between them.
    text: Arc<str>,
    /// Where the name begins. It takes part in comparing and hashing, so that "a" + "bc" is not "ab" + "c".
    tenant_len: u8,
}

impl AccountId {
    /// The most bytes of UTF-8 a name may have.
    pub const NAME_MAX: usize = 128;

    /// The most bytes of UTF-8 a tenant may have.
    pub const TENANT_MAX: usize = 64;

    /// Names an account that belongs to no tenant.
    ///
    /// # Errors
    ///
    /// [`InvalidCommand`] when the name is empty, longer than [`NAME_MAX`](Self::NAME_MAX) bytes, blank, or contains a
    /// control character. The same name is refused every time.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::AccountId;
    ///
    /// assert_eq!(AccountId::new("ada")?.tenant(), None);
    /// assert!(AccountId::new("   ").is_err());
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn new(name: impl AsRef<str>) -> Result<Self, InvalidCommand> {
        Self::in_tenant("", name)
    }

    /// Names an account of a tenant; an empty tenant is none.
    ///
    /// # Errors
    ///
    /// [`InvalidCommand`] as for [`new`](Self::new), and when the tenant is longer than
    /// [`TENANT_MAX`](Self::TENANT_MAX) bytes, blank, or contains a control character.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::AccountId;
    ///
    /// assert_ne!(AccountId::in_tenant("a", "bc")?, AccountId::in_tenant("ab", "c")?);
    /// assert_eq!(AccountId::in_tenant("", "ada")?, AccountId::new("ada")?);
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn in_tenant(
        tenant: impl AsRef<str>,
        name: impl AsRef<str>,
    ) -> Result<Self, InvalidCommand> {
        let (tenant, name) = (tenant.as_ref(), name.as_ref());
        let too_long = InvalidCommand::TooLong {
            field: Field::Tenant,
            len: tenant.len(),
            max: Self::TENANT_MAX,
        };
        let tenant_len = u8::try_from(tenant.len()).map_err(|_| too_long)?;
        if !tenant.is_empty() {
            text::check(Field::Tenant, tenant, Self::TENANT_MAX)?;
        }
        text::check(Field::Account, name, Self::NAME_MAX)?;
        let text = if tenant.is_empty() {
            Arc::from(name)
        } else {
            Arc::from([tenant, name].concat())
        };
        Ok(Self { text, tenant_len })
    }

    /// The tenant, or `None` for an account that belongs to none.
    ///
    /// # Examples
    ///
    /// ```
    /// let id = pointstore::AccountId::in_tenant("shop-7", "ada")?;
    /// assert_eq!(id.tenant(), Some("shop-7"));
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn tenant(&self) -> Option<&str> {
        Some(self.parts().0).filter(|tenant| !tenant.is_empty())
    }

    /// The name within the tenant.
    ///
    /// # Examples
    ///
    /// ```
    /// let id = pointstore::AccountId::in_tenant("shop-7", "ada")?;
    /// assert_eq!(id.name(), "ada");
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn name(&self) -> &str {
        self.parts().1
    }

    /// Tenant (possibly empty) and name.
    pub(crate) fn parts(&self) -> (&str, &str) {
        let at = usize::from(self.tenant_len);
        // The constructor cut the text at this place, so the fallback is never taken.
        self.text.split_at_checked(at).unwrap_or(("", &self.text))
    }

    /// The bytes of tenant and name together.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }
}

impl Ord for AccountId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for AccountId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountId")
            .field("tenant", &self.parts().0)
            .field("name", &self.parts().1)
            .finish()
    }
}

/// For people: `name`, or `tenant/name`. It is not read back into a tenant, since names may contain a slash.
impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            ("", name) => f.write_str(name),
            (tenant, name) => write!(f, "{tenant}/{name}"),
        }
    }
}

/// The same as [`AccountId::new`]: the whole text is the name, also when it contains a slash.
impl FromStr for AccountId {
    type Err = InvalidCommand;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

/// The same as [`AccountId::new`].
impl TryFrom<&str> for AccountId {
    type Error = InvalidCommand;

    fn try_from(name: &str) -> Result<Self, Self::Error> {
        Self::new(name)
    }
}

/// The same as [`AccountId::new`].
impl TryFrom<String> for AccountId {
    type Error = InvalidCommand;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(name)
    }
}

impl Serialize for AccountId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Both fields always: a format that does not name them could not tell which one is missing.
        let (tenant, name) = self.parts();
        let mut fields = serializer.serialize_struct("AccountId", 2)?;
        fields.serialize_field("tenant", tenant)?;
        fields.serialize_field("name", name)?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for AccountId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename = "AccountId", deny_unknown_fields)]
        struct Fields {
            #[serde(default)]
            tenant: String,
            name: String,
        }
        let fields = Fields::deserialize(deserializer)?;
        Self::in_tenant(fields.tenant, fields.name).map_err(serde::de::Error::custom)
    }
}

/// What a store knows of an account that has at least one receipt.
///
/// All of it belongs to one moment: the balance is the sum of exactly the `sequence` receipts up to number `last`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Account {
    id: AccountId,
    balance: Balance,
    sequence: u64,
    last: u64,
}

impl Account {
    pub(crate) fn new(id: AccountId, balance: Balance, sequence: u64, last: u64) -> Self {
        Self {
            id,
            balance,
            sequence,
            last,
        }
    }

    /// Whose account it is.
    pub fn id(&self) -> &AccountId {
        &self.id
    }

    /// The points the account holds.
    pub fn balance(&self) -> Balance {
        self.balance
    }

    /// How many receipts the account has; the number to give to
    /// [`Command::expecting`](crate::Command::expecting) for *if nothing has happened since*.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The number of its newest receipt: that one's place in the journal, from 1.
    pub fn last(&self) -> u64 {
        self.last
    }
}
