import { expect, it } from 'vitest';
import { sourceOf } from '../../../src/apiserver/limits/source.ts';

// Whoever has one address of an IPv6 network has all of them, and would have a limit for each.
it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['2001:db8:1:2::1', '20010db800010002::/64'],
  ['2001:db8:1:2:ffff:ffff:ffff:ffff', '20010db800010002::/64'],
  ['2001:db8:1:3::1', '20010db800010003::/64'],
  ['fe80::1%eth0', 'fe80000000000000::/64'],
  ['', ''],
])('the source of %s is %s', (address, source) => {
  expect(sourceOf(address)).toBe(source.replace(/^0+/, ''));
});

it('leaves no source but one to all addresses of a network', () => {
  const sources = Array.from({ length: 100 }, (_, at) => sourceOf(`2001:db8::${at.toString(16)}:1`));
  expect(new Set(sources).size).toBe(1);
});
