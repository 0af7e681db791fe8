// Whom the limits of unauthenticated clients count: an IPv4 address, or the network of an IPv6 address, because whoever has one of
// these has all 2^64 of its network. Pure.
import { parseAddress } from '../../object/text/ip.ts';

const hostBits = 64n;

export function sourceOf(address = ''): string {
  const parsed = parseAddress(address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, ''));
  if (parsed.kind === 'invalid' || parsed.family === 'IPv4') return address;
  return `${(parsed.value >> hostBits).toString(16)}::/64`;
}
