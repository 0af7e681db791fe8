// Decides which addresses a tenant may publish on the host (CVE-2021-25740). Addresses are compared as numbers, never as
// text, so that another spelling cannot evade a rule. Addresses of the node itself are always refused. Pure.
import { dnsSubdomainProblems } from '../../object/meta/qualified-name.ts';
import {
  type Address,
  type Cidr,
  contains,
  parseAddress,
  parseCidr,
  plainV4Of,
  specialRangeOf,
  specialRangeOfV4,
  v4Address,
} from '../../object/text/ip.ts';

export interface AddressRefusal {
  address: string;
  rule: string;
}

export interface AddressPolicy {
  refusals(addresses: Iterable<string>): AddressRefusal[];
}

/** Remembered verdicts: enough for a few objects of the largest size, in a hundred kilobytes. */
const judgedLimit = 2_000;

const specialNames = {
  loopback: 'loopback',
  linkLocal: 'link-local',
  multicast: 'multicast',
  unspecified: 'unspecified',
  broadcast: 'broadcast',
  reserved: 'reserved (240.0.0.0/4)',
} as const;

/** The lists are valid: they were checked when the configuration was loaded. An empty allow list allows the rest. */
export function createAddressPolicy(lists: {
  allow: readonly string[];
  deny: readonly string[];
  /** Whether domain names are allowed as addresses; they cannot be compared with the lists. */
  fqdn?: 'refuse' | 'allow';
}): AddressPolicy {
  const allow = lists.allow.map(checkedCidr);
  const deny = lists.deny.map(checkedCidr);
  const judge = (text: string): string | undefined => {
    const address = parseAddress(text);
    if (address.kind === 'invalid') {
      if (!isDomainName(text)) return `not an IP address: ${address.reason}`;
      return lists.fqdn === 'allow' ? undefined : 'a name, which cannot be checked; hostward.addressPolicy.fqdn: allow';
    }
    const special = specialRangeOf(address);
    // Some clusters number their Pods from 240.0.0.0/4, so an allow list may name a part of it.
    const isExcused = special === 'reserved' && formsOf(address).every((form) => isAllowedReserved(form, allow));
    if (special !== undefined && !isExcused) {
      return `${specialNames[special]} addresses are ${special === 'reserved' ? 'refused unless the allow list names them' : 'always refused'}`;
    }
    const denied = deny.find((cidr) => formsOf(address).some((form) => contains(cidr.range, form)));
    if (denied !== undefined) return `denied by ${denied.text}`;
    if (allow.length > 0 && !isAllowed(address, allow)) return 'not in the allow list';
    return undefined;
  };
  /** A plain IPv4 address is judged faster than it is looked up. Parsing any other form takes a few microseconds. */
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

/** A name that ends in a number is an address in disguise, such as `127.1`. */
function isDomainName(text: string): boolean {
  const last = text.replace(/\.$/, '').split('.').at(-1) ?? '';
  return dnsSubdomainProblems(text.toLowerCase()).length === 0 && !/^(\d+|0x[0-9a-f]*)$/i.test(last);
}

interface Network {
  text: string;
  range: Cidr;
}

/** An IPv6 address with an embedded IPv4 address reaches the same machine, so a deny list must see both. */
function formsOf(address: Address): Address[] {
  return [address, ...(address.embedded ?? []).map(({ value }) => v4Address(value))];
}

/**
 * Both the address and its embedded IPv4 address must be allowed: otherwise `2000::/3` would open all of IPv4 through 6to4.
 * A network made for the embedding form, such as `64:ff9b::/96`, allows both.
 */
function isAllowed(address: Address, allow: readonly Network[]): boolean {
  const containing = allow.filter(({ range }) => contains(range, address));
  if (containing.length === 0) return false;
  return (address.embedded ?? []).every(
    ({ value, prefixBits }) =>
      containing.some(({ range }) => range.family === 'IPv6' && range.prefixLength >= prefixBits) ||
      allow.some(({ range }) => contains(range, v4Address(value))),
  );
}

/** Whether an entry inside the reserved range contains the address. A wide entry such as `0.0.0.0/0` does not count. */
function isAllowedReserved(form: Address, allow: readonly Network[]): boolean {
  if (form.family === 'IPv6') return true;
  if (specialRangeOfV4(Number(form.value)) !== 'reserved') return true;
  return allow.some(
    ({ range }) => range.prefixLength >= reservedPrefixBits && contains(range, form) && range.family === 'IPv4',
  );
}

const reservedPrefixBits = 4;

function checkedCidr(text: string): Network {
  const parsed = parseCidr(text);
  if (parsed.kind === 'invalid') throw new Error(`address policy: "${text}" is not a CIDR: ${parsed.reason}`);
  return { text, range: parsed.cidr };
}
