-- What the gauges of telemetry read, so that they cost the same however long the history is.
-- +goose Up
create index orders_closed on orders (state) where closed_at is not null;

create index outbox_unpublished on outbox (created_at) where published_at is null;

-- +goose Down
drop index outbox_unpublished;
drop index orders_closed;
