import { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import express from 'express';
import { isHttpsIgnored, isPrivate, peerAddress, protocolOf } from '../../lib/http/origin.ts';

interface Peer {
  readonly remoteAddress?: string | undefined;
  readonly encrypted?: boolean;
}

/** A request of this peer, with what else the application and its host put on it. */
function request(peer: Peer, headers: IncomingHttpHeaders = {}, extras = {}): IncomingMessage {
  const socket = new Socket();
  for (const [name, value] of Object.entries(peer)) Object.defineProperty(socket, name, { value });
  return Object.assign(new IncomingMessage(socket), { headers }, extras);
}

describe('a peer that may be the application’s own proxy', () => {
  it.each([
    ['loopback', '127.0.0.1'],
    ['all of loopback', '127.255.255.254'],
    ['a private network of 8 bits', '10.1.2.3'],
    ['a private network of 12 bits', '172.31.255.255'],
    ['a private network of 16 bits', '192.168.1.1'],
    ['a shared address', '100.127.255.255'],
    ['a link-local address', '169.254.169.254'],
    ['loopback of IPv6', '::1'],
    ['a unique local address of IPv6', 'fd12:3456::1'],
    ['a link-local address of IPv6', 'fe80::1'],
    ['a link-local address with its zone', 'fe80::1%eth0'],
    ['a private address as a socket of IPv6 says it', '::ffff:10.0.0.1'],
    ['a local socket without an address', ''],
    ['a local socket whose address is not known', undefined],
  ])('is one at %s', (_what, address) => expect(isPrivate(address)).toBe(true));

  it.each([
    '8.8.8.8',
    '11.0.0.1',
    '172.15.255.255',
    '172.32.0.1',
    '192.169.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '2001:db8::1',
    '2001:db8::1%eth0',
    '::2',
    '::ffff:8.8.8.8',
    'fec0::1',
  ])('is none at %s', (address) => expect(isPrivate(address)).toBe(false));
});

describe('https that a proxy announces and the application does not believe', () => {
  const https = { 'x-forwarded-proto': 'https' };
  const trusting = { app: express().set('trust proxy', true) };

  it.each<[string, Peer, IncomingHttpHeaders, object]>([
    ['from its own network', { remoteAddress: '10.0.0.1' }, https, {}],
    ['in front of other proxies', { remoteAddress: '::1' }, { 'x-forwarded-proto': 'https, http' }, {}],
    ['by a local socket', {}, https, {}],
    ['without trust proxy', { remoteAddress: '127.0.0.1' }, https, { app: express() }],
  ])('is noticed %s', (_how, peer, headers, extras) => {
    expect(isHttpsIgnored(request(peer, headers, extras))).toBe(true);
  });

  it.each<[string, Peer, IncomingHttpHeaders, object]>([
    ['trust proxy covers the peer', { remoteAddress: '10.0.0.1' }, https, trusting],
    ['the connection itself is https', { remoteAddress: '10.0.0.1', encrypted: true }, https, {}],
    ['the peer comes from the internet', { remoteAddress: '8.8.8.8' }, https, {}],
    ['the proxy says http', { remoteAddress: '10.0.0.1' }, { 'x-forwarded-proto': 'http' }, {}],
    ['there is no proxy', { remoteAddress: '10.0.0.1' }, {}, {}],
  ])('is no matter where %s', (_where, peer, headers, extras) => {
    expect(isHttpsIgnored(request(peer, headers, extras))).toBe(false);
  });
});

it.each([
  [true, 'https'],
  [false, 'http'],
  [undefined, 'http'],
])('the protocol of a socket that calls itself encrypted: %s is %s', (encrypted, protocol) => {
  expect(protocolOf(request(encrypted === undefined ? {} : { encrypted }))).toBe(protocol);
});

describe('the address of the client', () => {
  const peer = { remoteAddress: '10.0.0.1' };

  it('is that which Express has found, else the peer’s', () => {
    expect(peerAddress(request(peer, {}, { ip: '8.8.8.8' }))).toBe('8.8.8.8');
    expect(peerAddress(request(peer))).toBe('10.0.0.1');
    expect(peerAddress(request(peer, {}, { ip: undefined }))).toBe('10.0.0.1');
    expect(peerAddress(request({}))).toBeUndefined();
  });
});
