// Package order is the domain of the service: the states of an order, the events that move it,
// the table of allowed transitions, the steps that do the work, and the tables that say what a
// provider's answer means and what follows from it.
//
// Everything here is data and pure functions. There is no context, network, database, log, clock
// or randomness, so every rule can be tested as a row of a text table, and the same tables are
// written into the database by a migration (a test proves that they are equal). The database
// decides with them under the lock of the order; nothing else changes a state.
//
//	created ─► reserving ─► reserved ─► paying ─► paid ─► shipping ─► shipped
//	   │          │  │          │        │  │  ▲              │
//	   │          │  └──────┐   │   ┌────┘  ▼  │              ▼
//	   ▼          ▼         ▼   ▼   ▼  payment_unknown   shipping_failed
//	cancelled  reservation_  releasing ◄────┘
//	           failed           │ └─► release_failed
//	                            ▼
//	        payment_failed, cancelled, reservation_failed
//
// A charge is irreversible for the machine. That is why payment_unknown exists: it is left only
// by a status query or by a void of the payment key, and no reservation is released in it.
package order
