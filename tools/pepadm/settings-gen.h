/* SPDX-License-Identifier: GPL-2.0 */
/* Made by scripts/gen-settings.py from the spec and settings.yaml. */
#ifndef _PEPADM_SETTINGS_GEN_H
#define _PEPADM_SETTINGS_GEN_H

/* Number of settings. */
#define PEP_SETTINGS 30

/* The settings in the usage text. */
#define PEP_SETTINGS_USAGE \
	"OPTIONS := [ cc-wireless CC ] [ cc-server CC ]\n" \
	"           [ connect { follow | early } ] [ split TRIGGERS ]\n" \
	"           [ mptcp { bypass | split } ] [ source { client | local } ]\n" \
	"           [ server-dev { DEV | none } ] [ mark N ] [ dscp { copy | N } ]\n" \
	"           [ keepalive-idle SECONDS ] [ keepalive-interval SECONDS ]\n" \
	"           [ keepalive-count N ] [ user-timeout MS ] [ idle-timeout SECONDS ]\n" \
	"           [ release-idle SECONDS ] [ residence MS ] [ initial-window N ]\n" \
	"           [ resume { on | off } ] [ resume-max BYTES ]\n" \
	"           [ link-rate { auto | RATE } ] [ link-rtt { auto | MS } ]\n" \
	"           [ control { off | PERCENT% } ]\n" \
	"           [ control-by { connection | subscriber } ]\n" \
	"           [ wireless-sndbuf { auto | BYTES } ] [ wireless-rcvbuf { auto | BYTES } ]\n" \
	"           [ server-sndbuf { auto | BYTES } ] [ server-rcvbuf { auto | BYTES } ]\n" \
	"           [ wireless-max-rate { unlimited | RATE } ]\n" \
	"           [ server-max-rate { unlimited | RATE } ] [ max-flows { unlimited | N } ]\n"

#endif
