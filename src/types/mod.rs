//! Validated values: who holds points, the key, the amounts, the request, the receipt, the time.
//!
//! A value of one of these types is in bounds; there is no other way to make one. No I/O happens here.
