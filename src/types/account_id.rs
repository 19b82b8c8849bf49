//! Who holds points: the name of an account, within a tenant or without one.
//!
//! Keeps the scopes of keys apart: two different pairs of tenant and name are never the same account.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::text::{self, text_parsing};
use super::{Field, InvalidCommand};

/// The name of an account, optionally within a tenant.
///
/// Accounts need no opening: any valid name holds zero points until something is granted to it. The same name under
/// another tenant is another account, and so is the same name without a tenant.
///
/// A name has 1 to [`NAME_MAX`](Self::NAME_MAX) bytes of UTF-8, a tenant up to [`TENANT_MAX`](Self::TENANT_MAX), where
/// none at all means *no tenant*. Neither may be blank or contain a control character. Both are compared byte for
/// byte; the order is by tenant, then by name. Cloning copies no text.
///
/// Converting from a plain text is the same as [`new`](Self::new): all of the text is the name, with a slash too.
/// [`Display`](fmt::Display) is for people, and is not read back into a tenant.
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

const _: () = assert!(AccountId::TENANT_MAX < u8::MAX as usize);

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
    pub fn in_tenant(tenant: impl AsRef<str>, name: impl AsRef<str>) -> Result<Self, InvalidCommand> {
        let (tenant, name) = (tenant.as_ref(), name.as_ref());
        if !tenant.is_empty() {
            text::check(Field::Tenant, tenant, Self::TENANT_MAX)?;
        }
        text::check(Field::Account, name, Self::NAME_MAX)?;
        // At most TENANT_MAX bytes by now, so this is exact.
        let tenant_len = u8::try_from(tenant.len()).unwrap_or(u8::MAX);
        let text = if tenant.is_empty() { Arc::from(name) } else { Arc::from([tenant, name].concat()) };
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
        f.debug_struct("AccountId").field("tenant", &self.parts().0).field("name", &self.parts().1).finish()
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

text_parsing!(AccountId);

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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn id(tenant: &str, name: &str) -> AccountId {
        AccountId::in_tenant(tenant, name).unwrap()
    }

    // C09
    #[test]
    fn pairs_that_glue_to_the_same_text_are_different_accounts() {
        let ids = [id("a", "bc"), id("ab", "c"), id("", "abc")];
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }

    #[test]
    fn order_is_by_tenant_and_then_by_name() {
        let mut ids = [id("b", "a"), id("ab", "a"), id("a", "z"), id("", "zz")];
        ids.sort();
        let shown: Vec<_> = ids.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["zz", "a/z", "ab/a", "b/a"]);
    }

    #[test]
    fn the_longest_names_are_accepted_and_one_byte_more_is_refused() {
        let (tenant, name) = ("t".repeat(64), "n".repeat(128));
        assert_eq!(id(&tenant, &name).parts(), (&*tenant, &*name));
        let field = Field::Account;
        let error = InvalidCommand::TooLong { field, len: 129, max: 128 };
        assert_eq!(AccountId::new("n".repeat(129)), Err(error));
        for len in [65, 255, 256, 320] {
            let field = Field::Tenant;
            let error = InvalidCommand::TooLong { field, len, max: 64 };
            assert_eq!(AccountId::in_tenant("t".repeat(len), "n"), Err(error));
        }
    }

    #[test]
    fn a_blank_tenant_is_refused_where_an_empty_one_is_none() {
        let field = Field::Tenant;
        assert_eq!(AccountId::in_tenant(" ", "ada"), Err(InvalidCommand::Blank { field }));
        assert_eq!(id("", "ada").tenant(), None);
    }

    #[test]
    fn a_text_with_a_slash_is_all_name() {
        let parsed: AccountId = "shop-7/ada".parse().unwrap();
        assert_eq!(parsed.parts(), ("", "shop-7/ada"));
        assert_ne!(parsed, id("shop-7", "ada"));
        assert_eq!(AccountId::try_from("a/b"), AccountId::try_from("a/b".to_owned()));
    }

    #[test]
    fn both_fields_are_always_serialised() {
        let json = serde_json::to_string(&id("", "ada")).unwrap();
        assert_eq!(json, r#"{"tenant":"","name":"ada"}"#);
    }

    #[test]
    fn a_missing_tenant_is_none() {
        let read: AccountId = serde_json::from_str(r#"{"name":"ada"}"#).unwrap();
        assert_eq!(read, id("", "ada"));
    }

    #[test]
    fn fields_without_names_are_read_in_order() {
        let read: AccountId = serde_json::from_str(r#"["shop-7","ada"]"#).unwrap();
        assert_eq!(read, id("shop-7", "ada"));
    }

    #[test]
    fn reading_goes_through_the_checks() {
        let long = format!(r#"{{"tenant":"{}","name":"ada"}}"#, "t".repeat(65));
        for json in [r#"{"name":""}"#, r#"{"tenant":"shop-7"}"#, r#"{"name":"a\u0000"}"#, &long] {
            assert!(serde_json::from_str::<AccountId>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_misspelt_tenant_is_refused_instead_of_left_out() {
        let json = r#"{"tennant":"shop-7","name":"ada"}"#;
        assert!(serde_json::from_str::<AccountId>(json).is_err());
    }

    proptest! {
        #[test]
        fn any_two_texts_make_an_account_of_exactly_these_or_none(tenant in ".{0,70}", name in ".{0,140}") {
            if let Ok(made) = AccountId::in_tenant(&tenant, &name) {
                prop_assert_eq!(made.parts(), (&*tenant, &*name));
                let json = serde_json::to_string(&made).unwrap();
                prop_assert_eq!(serde_json::from_str::<AccountId>(&json).unwrap(), made);
            }
        }

        #[test]
        fn accounts_are_equal_exactly_when_their_pairs_are(
            (t1, n1) in ("[ab]{0,2}", "[ab]{1,2}"),
            (t2, n2) in ("[ab]{0,2}", "[ab]{1,2}"),
        ) {
            let same = (&t1, &n1) == (&t2, &n2);
            let (one, two) = (id(&t1, &n1), id(&t2, &n2));
            prop_assert_eq!(one == two, same);
            prop_assert_eq!(one.cmp(&two) == Ordering::Equal, same);
            prop_assert_eq!(HashSet::from([one, two]).len() == 1, same);
        }
    }
}
