// The networks that a key may be used from: the annotation hostward.dev/allowed-cidrs, networks with commas between them.
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { checkText } from '../../../config/settings/text-rules.ts';
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';

export const cidrsAnnotation = 'hostward.dev/allowed-cidrs';

/** A longer list belongs into a firewall. */
const maxNetworks = 64;

export interface SourceNetworks {
  readonly list: readonly string[];
  /** An address that is not known is in no network. */
  includes(address: string | undefined): boolean;
}

export function networkFaults(annotation: string, path: string): FieldError[] {
  const networks = parts(annotation);
  if (networks.length > maxNetworks) return [invalidValue(path, networks.length, `at most ${maxNetworks} networks`)];
  return networks.flatMap((network) => {
    const problem = checkText(network, 'network');
    return problem === undefined ? [] : [invalidValue(path, network, `must be ${problem.wanted}; ${problem.fix}`)];
  });
}

/** A text that is not a network allows no address. */
export function sourceNetworks(annotation: string): SourceNetworks {
  // A list of both would let every IPv4 address into an IPv6 network that holds ::ffff:0:0/96, such as ::/0.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const network of parts(annotation)) {
    if (checkText(network, 'network') !== undefined) continue;
    const { address, bits, family } = split(network);
    lists[family].addSubnet(address, bits, family);
  }
  return {
    list: parts(annotation),
    includes(address) {
      const plain = address?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
      if (isIPv4(plain)) return lists.ipv4.check(plain, 'ipv4');
      return isIPv6(plain) && lists.ipv6.check(plain, 'ipv6');
    },
  };
}

/** Every network of the new list lies inside one of the old; without an old list anything does. */
export function isNarrower(now: string | undefined, before: string | undefined): boolean {
  if (before === undefined) return true;
  if (now === undefined) return false;
  return parts(now).every((network) => {
    const inner = split(network);
    return parts(before).some((old) => {
      const outer = split(old);
      if (outer.family !== inner.family || outer.bits > inner.bits) return false;
      const list = new BlockList();
      list.addSubnet(outer.address, outer.bits, outer.family);
      return list.check(inner.address, inner.family);
    });
  });
}

function parts(annotation: string): string[] {
  return annotation
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function split(network: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } {
  const [address = '', bits = ''] = network.split('/');
  return { address, bits: Number(bits), family: isIPv4(address) ? 'ipv4' : 'ipv6' };
}
