package main

import (
	"context"
	"errors"
	"os"

	"ordeal/sim"
)

// openLab finds or starts a server and opens a lab on a database of its own. The returned
// function ends all of that.
func openLab(ctx context.Context) (*sim.Lab, func(), error) {
	ground, err := sim.OpenGround(ctx, os.Stderr)
	if err != nil {
		return nil, nil, err
	}
	lab, err := ground.OpenLab(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, ground.Close())
	}
	return lab, func() {
		_ = lab.Close(context.WithoutCancel(ctx))
		_ = ground.Close()
	}, nil
}
