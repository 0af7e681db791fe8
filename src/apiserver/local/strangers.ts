// Keeps strangers out of the ports on this machine that people open in a browser. Loopback is no protection: a web page can rebind
// its own name to 127.0.0.1, and any page can send a form there. In: the head of a request. Out: why it is not answered. Pure.
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';

export interface StrangerFault {
  status: 403 | 415 | 421;
  sentence: string;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

export function isLoopback(address: string | undefined): boolean {
  const family = isIP(address ?? '');
  return family !== 0 && loopback.check(address as string, family === 6 ? 'ipv6' : 'ipv4');
}

/** For who asks from elsewhere; `path` is what was asked for. */
export function forwardSentence(what: string, { port, path }: { port: number; path: string }): string {
  return `${what}, so it answers programs on this machine alone; from elsewhere run\nkubectl port-forward POD ${port}:${port}\nand open http://localhost:${port}${path}`;
}

/** Further names under which a port answers, which its operator has configured. */
export interface KnownNames {
  names: readonly string[];
  /** Where they are configured, in words. */
  from: string;
}

/**
 * A page that rebinds its name always sends that name; kubelet and Prometheus send the address of the pod. A client that
 * sends no host at all is a stranger.
 */
export function hostFault(host: string | undefined, known: KnownNames | undefined): StrangerFault | undefined {
  const name = nameIn(host ?? '');
  if (name === 'localhost' || isIP(name) !== 0) return undefined;
  if (name !== '' && known?.names.some((one) => one.toLowerCase() === name)) return undefined;
  const further =
    known === undefined ? 'localhost and to IP addresses' : `localhost, to IP addresses and to ${known.from}`;
  return { status: 421, sentence: `this port answers to ${further}` };
}

/** Without the port, and without the brackets of an IPv6 address. */
function nameIn(host: string): string {
  return host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A request that could change something comes from a page of this port or from no page at all, and is JSON. */
export function senderFault(method: string, headers: IncomingHttpHeaders): StrangerFault | undefined {
  if (safeMethods.has(method)) return undefined;
  if (!isOwnPage(headers)) return { status: 403, sentence: 'a page of another origin may not ask this' };
  if (/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) return undefined;
  return { status: 415, sentence: 'the body must be application/json' };
}

/** Browsers that send no Sec-Fetch-Site send Origin; a program sends neither. */
function isOwnPage(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin, host } = headers;
  return origin === undefined || origin === `http://${host}`;
}
