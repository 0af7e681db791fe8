// Which addresses a tenant may publish on the host (CVE-2021-25740). Addresses are compared as numbers in canonical form,
// never as text; what would lead to the node itself is refused in every spelling, whatever the configuration says. Pure.
import {
  type Cidr,
  contains,
  type ParsedAddress,
  parseAddress,
  parseCidr,
  plainV4Of,
  specialRangeOf,
  specialRangeOfV4,
} from '../../object/text/ip.ts';

export interface AddressRefusal {
  address: string;
  rule: string;
}

export interface AddressPolicy {
  refusals(addresses: Iterable<string>): AddressRefusal[];
}

/** Verdicts that are remembered: a few objects of the largest size, a hundred kilobytes. */
const judgedLimit = 2_000;

const specialNames = {
  loopback: 'loopback',
  linkLocal: 'link-local',
  multicast: 'multicast',
  unspecified: 'unspecified',
} as const;

/** The lists were checked when the configuration was loaded; an unset allow list allows the rest. */
export function createAddressPolicy(lists: { allow: readonly string[]; deny: readonly string[] }): AddressPolicy {
  const allow = lists.allow.map(checkedCidr);
  const deny = lists.deny.map(checkedCidr);
  const judge = (text: string): string | undefined => {
    const address = parseAddress(text);
    if (address.kind === 'invalid') return `not an IP address: ${address.reason}`;
    const special = specialRangeOf(address);
    if (special !== undefined) return `${specialNames[special]} addresses are always refused`;
    const forms = formsOf(address);
    const denied = deny.find((cidr) => forms.some((form) => contains(cidr.range, form)));
    if (denied !== undefined) return `denied by ${denied.text}`;
    if (allow.length > 0 && !allow.some((cidr) => contains(cidr.range, address))) return 'not in the allow list';
    return undefined;
  };
  /** IPv4 addresses, as most are written, are judged sooner than remembered; the reading of others takes a few microseconds. */
  const hasLists = allow.length + deny.length > 0;
  const judged = new Map<string, string | undefined>();
  const ruleOf = (address: string): string | undefined => {
    const plain = hasLists ? -1 : plainV4Of(address);
    if (plain >= 0 && specialRangeOfV4(plain) === undefined) return undefined;
    const known = judged.get(address);
    if (known !== undefined || judged.has(address)) return known;
    if (judged.size >= judgedLimit) judged.clear();
    const rule = judge(address);
    judged.set(address, rule);
    return rule;
  };
  return {
    refusals(addresses) {
      const refused: AddressRefusal[] = [];
      for (const address of addresses) {
        const rule = ruleOf(address);
        if (rule !== undefined) refused.push({ address, rule });
      }
      return refused;
    },
  };
}

/** An IPv6 address that carries an IPv4 one reaches the same place, so a deny list must see both. */
function formsOf(address: Extract<ParsedAddress, { kind: 'ok' }>): Extract<ParsedAddress, { kind: 'ok' }>[] {
  if (address.embeddedV4 === undefined) return [address];
  const embedded = parseAddress(address.embeddedV4);
  return embedded.kind === 'ok' ? [address, embedded] : [address];
}

function checkedCidr(text: string): { text: string; range: Cidr } {
  const parsed = parseCidr(text);
  if (parsed.kind === 'invalid') throw new Error(`address policy: "${text}" is not a CIDR: ${parsed.reason}`);
  return { text, range: parsed.cidr };
}
