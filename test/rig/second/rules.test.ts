// Three more rules written once more from DESIGN 2 and 3: whose a host object is and what becomes of it (3.2 to 3.4, 3.9), which side a key follows (3.8),
// and which addresses may leave (3.14). Every mixture is tried: the model must find nothing wrong with the right end, and something with each other end.
import { BlockList, isIPv6 } from 'node:net';
import { describe, expect, it } from 'vitest';
import { expectationOf } from '../model/model.ts';
import type { CalmPoint, Deed, Holding, PlainObject } from '../model/words/types.ts';
import { judge } from '../oracles/judge.ts';

const place = { namespace: 'vcluster-vc', name: 'web-x-t1-x-vc' };
const six = (of: { namespace: string; name: string }, uid = 'uid-of-web') => ({
  'vcluster.loft.sh/object-name': of.name,
  'vcluster.loft.sh/object-namespace': of.namespace,
  'vcluster.loft.sh/object-uid': uid,
  'vcluster.loft.sh/object-kind': '/v1, Kind=Endpoints',
  'vcluster.loft.sh/object-host-name': place.name,
  'vcluster.loft.sh/object-host-namespace': place.namespace,
});
const marker = (virtualCluster: string) => ({
  'vcluster.loft.sh/managed-by': virtualCluster,
  'vcluster.loft.sh/namespace': 't1',
});
type Texts = Readonly<Record<string, string>>;

function endpoints(at: { namespace: string; name: string }, uid: string, ip: string, metadata: object): PlainObject {
  const subsets = [{ addresses: [{ ip }], ports: [{ port: 80, protocol: 'TCP' }] }];
  const about = { ...at, uid, resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata };
  return { apiVersion: 'v1', kind: 'Endpoints', metadata: about, subsets } as PlainObject;
}

function service(at: { namespace: string; name: string }, more: { annotations?: Texts; hasSelector?: boolean } = {}) {
  const { annotations = {}, hasSelector = false } = more;
  const metadata = { ...at, uid: 'uid-of-service', resourceVersion: '5', annotations };
  return {
    ...{ apiVersion: 'v1', kind: 'Service', spec: hasSelector ? { selector: { app: 'x' } } : {} },
    metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' },
  } as PlainObject;
}

const web = { namespace: 't1', name: 'web' };
const copy = (ip: string, annotations: Texts = {}): PlainObject =>
  endpoints(place, 'uid-of-copy', ip, { labels: marker('vc'), annotations: { ...six(web), ...annotations } });

interface Given {
  before: Holding;
  now: Holding;
  deeds?: readonly Deed[];
  hostward?: object;
  absences?: CalmPoint['absences'];
  halfBacks?: CalmPoint['halfBacks'];
}

/** What the model finds wrong. */
function wrongWith({ before, now, deeds = [], hostward = {}, absences = [], halfBacks = [] }: Given): string[] {
  const configuration = { experimental: { syncSettings: { setOwner: false } }, hostward } as never;
  const point: CalmPoint = {
    ...{
      virtualCluster: 'vc',
      hostNamespace: place.namespace,
      before,
      now,
      deeds,
      absences,
      halfBacks,
      hasSeenAll: true,
    },
    configurations: [{ configuration, sinceMs: 0 }],
  };
  return judge(expectationOf(point), now).map(({ what }) => what);
}

describe('the model and a second writing of whose a host object is', () => {
  const addresses = { good: '10.0.0.9', refused: '127.0.0.1' };
  const virtuals = ['gone', 'plain', 'selector', 'no Service', 'refused', 'controlled'] as const;
  const hosts = {
    nothing: undefined,
    ours: copy('10.0.0.8'),
    'ours, without the name': copy('10.0.0.8', {}),
    'ours, without the marker': { ...copy('10.0.0.8') },
    kept: copy('10.0.0.8', { 'vcluster.loft.sh/skip-backsync': 'true' }),
    'kept by the tenant': copy('10.0.0.8', {
      'vcluster.loft.sh/skip-backsync': 'true',
      'vcluster.loft.sh/managed-annotations': 'vcluster.loft.sh/skip-backsync',
    }),
    controlled: copy('10.0.0.8', { 'vcluster.loft.sh/controlled-by': 'other' }),
    native: endpoints(place, 'uid-of-copy', '10.0.0.8', {}),
    foreign: endpoints(place, 'uid-of-copy', '10.0.0.8', { labels: marker('other') }),
    'of an object elsewhere': copy('10.0.0.8', { 'vcluster.loft.sh/object-name': 'someone-else' }),
  } as Record<string, PlainObject | undefined>;
  const without = (object: PlainObject, field: 'labels' | 'annotations', key: string): PlainObject => {
    const { [key]: _, ...rest } = (object.metadata[field] ?? {}) as Record<string, string>;
    return { ...object, metadata: { ...object.metadata, [field]: rest } } as PlainObject;
  };
  hosts['ours, without the name'] = without(copy('10.0.0.8'), 'annotations', 'vcluster.loft.sh/object-name');
  hosts['ours, without the marker'] = without(copy('10.0.0.8'), 'labels', 'vcluster.loft.sh/managed-by');
  const hostServices = {
    none: undefined,
    'our copy': service(place, { annotations: six(web) }),
    'our copy with a selector': service(place, { annotations: six(web), hasSelector: true }),
    'of people': service(place),
  };

  /** DESIGN 2, 3.2, 3.3, 3.4, 3.9. */
  function end(
    virtual: (typeof virtuals)[number],
    host: string,
    hostService: string,
  ): 'nothing' | 'written' | 'as it is' {
    const isOurs = !['nothing', 'native', 'foreign', 'of an object elsewhere'].includes(host);
    const isFree = hostService === 'none' || hostService === 'our copy';
    if (virtual === 'plain') {
      if (host === 'nothing') return 'written';
      if (host === 'controlled' || !(isOurs || host === 'native')) return 'as it is';
      return isOurs || isFree ? 'written' : 'as it is';
    }
    if (host === 'nothing') return 'nothing';
    // What stands on the virtual object too, the tenant has put there.
    const isControlled = host === 'controlled' && virtual !== 'controlled';
    if (!isOurs || host === 'ours, without the name' || isControlled) return 'as it is';
    return host === 'kept' && virtual === 'gone' ? 'as it is' : 'nothing';
  }

  it('agree on each mixture of object, Service and host object', () => {
    let tried = 0;
    for (const virtual of virtuals)
      for (const [name, host] of Object.entries(hosts))
        for (const [hostServiceName, hostService] of Object.entries(hostServices)) {
          const ip = virtual === 'refused' ? addresses.refused : addresses.good;
          const annotations = virtual === 'controlled' ? { 'vcluster.loft.sh/controlled-by': 'other' } : {};
          const tenants = [
            ...(virtual === 'gone' ? [] : [endpoints(web, 'uid-of-web', ip, { annotations })]),
            ...(virtual === 'no Service' ? [] : [service(web, { hasSelector: virtual === 'selector' })]),
          ];
          const strange = hostService === undefined ? [] : [hostService];
          const after = {
            nothing: undefined,
            written: written(host, addresses.good),
            'as it is': host,
          };
          const right = end(virtual, name, hostServiceName);
          const holding = (object: PlainObject | undefined): Holding => ({
            virtual: tenants,
            host: [...strange, ...(object === undefined ? [] : [object])],
          });
          const about = `${virtual}, ${name}, ${hostServiceName}`;
          for (const [ended, object] of Object.entries(after)) {
            if (ended !== right && object === after[right]) continue;
            const wrong = wrongWith({ before: holding(host), now: holding(object) });
            expect([about, ended, wrong.length === 0 ? 'right' : 'wrong', ended === right ? wrong : []]).toEqual([
              ...[about, ended, ended === right ? 'right' : 'wrong', []],
            ]);
            tried++;
          }
        }
    expect(tried).toBeGreaterThan(600);
  });

  /** Everything of a copy, over what stood there. */
  function written(host: PlainObject | undefined, ip: string): PlainObject {
    const { labels, annotations } = host?.metadata ?? {};
    const metadata = {
      ...{ labels: { ...labels, ...marker('vc') }, annotations: { ...annotations, ...six(web) } },
    };
    return endpoints(place, 'uid-of-copy', ip, metadata);
  }
});

describe('the model and a second writing of which side a key follows', () => {
  const values = [undefined, 'agreed', 'v', 'h'] as const;
  const noted = (object: PlainObject, value: string | undefined): PlainObject => {
    const { note: _, ...rest } = (object.metadata.annotations ?? {}) as Record<string, string>;
    const annotations = value === undefined ? rest : { ...rest, note: value };
    return { ...object, metadata: { ...object.metadata, annotations } } as PlainObject;
  };
  const tenants = endpoints(web, 'uid-of-web', '10.0.0.9', {});
  const copied = copy('10.0.0.9', { 'hostward.dev/base': '2;;;' });

  /** DESIGN 3.8: one side has changed the key, and the other follows; of both, virtual wins. */
  function ends(agreed: string | undefined, virtual: string | undefined, host: string | undefined, flowsBack: boolean) {
    const isVirtualChanged = virtual !== agreed;
    const isHostChanged = host !== agreed;
    if (!isVirtualChanged && isHostChanged && flowsBack) return host;
    return virtual;
  }

  it.each([
    ['found together by a daemon that was away', [{ fromMs: 5, toMs: 50 }]],
    ['seen one by one, and only one side edits', []],
  ])('agree on each edit of both sides: %s', (_, absences) => {
    let tried = 0;
    for (const agreed of [undefined, 'agreed'])
      for (const virtual of [agreed, 'v', undefined])
        for (const host of [agreed, 'h', undefined])
          for (const isHostFirst of [true, false])
            for (const backSync of ['all', 'none']) {
              const flowsBack = backSync === 'all';
              const areBoth = virtual !== agreed && host !== agreed;
              if (areBoth && absences.length === 0) continue;
              // A key that only the host has stays there, and whether it was told of is another rule.
              if (!flowsBack && host !== agreed && virtual === undefined) continue;
              const before = { virtual: [noted(tenants, agreed), service(web)], host: [noted(copied, agreed)] };
              const edit = (side: 'virtual' | 'host', value: string | undefined, atMs: number): Deed[] => {
                const object = side === 'virtual' ? tenants : copied;
                const pair = { before: noted(object, agreed), after: noted(object, value) };
                return value === agreed ? [] : [{ side, verb: 'change', atMs, ...pair }];
              };
              const deeds = [...edit('host', host, isHostFirst ? 10 : 30), ...edit('virtual', virtual, 20)];
              deeds.sort((one, other) => one.atMs - other.atMs);
              const right = ends(agreed, virtual, host, flowsBack);
              for (const ofVirtual of values)
                for (const ofHost of values) {
                  const now = { virtual: [noted(tenants, ofVirtual), service(web)], host: [noted(copied, ofHost)] };
                  const wrong = wrongWith({ before, now, deeds, absences, hostward: { backSync } });
                  const isRight = ofVirtual === right && ofHost === right;
                  const about = { agreed, virtual, host, isHostFirst, backSync, ofVirtual, ofHost };
                  expect([about, wrong.length === 0, isRight ? wrong : []]).toEqual([about, isRight, []]);
                  tried++;
                }
            }
    expect(tried).toBeGreaterThan(200);
  });

  it('let the last of two host edits win, unless nobody knew that the first was half on its way back', () => {
    const before = { virtual: [noted(tenants, 'agreed'), service(web)], host: [noted(copied, 'agreed')] };
    const deed = (from: string, value: string, atMs: number): Deed => ({
      ...{ side: 'host', verb: 'change', atMs, before: noted(copied, from), after: noted(copied, value) },
    });
    const deeds = [deed('agreed', 'one', 10), deed('one', 'two', 20)];
    const half = { kind: 'Endpoints', namespace: web.namespace, name: web.name } as const;
    const areWrong = (value: string, halfBacks: CalmPoint['halfBacks']): boolean => {
      const now = { virtual: [noted(tenants, value), service(web)], host: [noted(copied, value)] };
      return wrongWith({ before, now, deeds, halfBacks }).length > 0;
    };
    const met = [{ ...half, fromMs: 15, toMs: 25 }];
    const others = [
      { ...half, fromMs: 11, toMs: 19 },
      { ...half, name: 'other', fromMs: 15, toMs: 25 },
    ];
    expect([areWrong('two', []), areWrong('one', []), areWrong('one', others)]).toEqual([false, true, true]);
    expect([areWrong('two', met), areWrong('one', met), areWrong('three', met)]).toEqual([false, false, true]);
  });
});

describe('the model and a second writing of which addresses may leave', () => {
  const never: readonly (readonly [string, number])[] = [
    ...([
      ['127.0.0.0', 8],
      ['169.254.0.0', 16],
      ['224.0.0.0', 4],
      ['240.0.0.0', 4],
      ['0.0.0.0', 32],
    ] as const),
    ...([
      ['::1', 128],
      ['fe80::', 10],
      ['ff00::', 8],
      ['::', 128],
    ] as const),
  ];
  const listOf = (networks: readonly (readonly [string, number])[]): BlockList => {
    const list = new BlockList();
    for (const [address, length] of networks) list.addSubnet(address, length, isIPv6(address) ? 'ipv6' : 'ipv4');
    return list;
  };
  const lists = {
    none: [],
    private: [['10.0.0.0', 8]],
    half: [['10.0.0.0', 9]],
    one: [['10.1.2.3', 32]],
    six: [['fd00::', 8]],
    both: [
      ['10.0.0.0', 8],
      ['fd00::', 8],
    ],
  } as const;
  const texts = [
    ...['10.1.2.3', '10.127.255.255', '10.128.0.0', '11.0.0.0', '9.255.255.255', '192.168.7.7', '8.8.8.8'],
    ...['126.255.255.255', '127.0.0.1', '127.255.255.255', '128.0.0.0', '169.253.255.255', '169.254.169.254'],
    ...['169.255.0.0', '223.255.255.255', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['0.0.0.0', '::', '::1', 'fd00::1', 'fd00:0:0:0:0:0:0:1', 'fe80::1', 'febf::1', 'fec0::1', 'ff02::1'],
    ...['2001:db8::1', 'FD00::A', '::ffff:10.1.2.3', '::ffff:127.0.0.1', '::ffff:8.8.8.8'],
  ];

  /** DESIGN 3.14, with the numbers that Node's own reader of addresses makes of the texts. */
  function mayLeave(text: string, allow: keyof typeof lists, deny: keyof typeof lists): boolean {
    const mapped = /^::ffff:(.*)$/.exec(text)?.[1];
    const address = mapped ?? text;
    const isIn = (networks: readonly (readonly [string, number])[]): boolean =>
      listOf(networks).check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
    if (isIn(never) || isIn(lists[deny])) return false;
    return allow === 'none' || isIn(lists[allow]);
  }

  it('agree on each address under each pair of lists', () => {
    let left = 0;
    const names = Object.keys(lists) as (keyof typeof lists)[];
    for (const text of texts)
      for (const allow of names)
        for (const deny of allow === 'none' || allow === 'both' ? names : (['none'] as const)) {
          const written = (name: keyof typeof lists): string[] =>
            lists[name].map(([address, length]) => `${address}/${length}`);
          const virtual = [endpoints(web, 'uid-of-web', text, {}), service(web)];
          const hostward = { addressPolicy: { allow: written(allow), deny: written(deny) } };
          const gone = { virtual, host: [] };
          const stands = { virtual, host: [copy(text)] };
          const about = `${text}, allowed: ${allow}, denied: ${deny}`;
          const may = mayLeave(text, allow, deny);
          if (may) left++;
          const before = left % 2 === 0 ? gone : stands;
          expect([about, wrongWith({ before, now: stands, hostward }).length === 0]).toEqual([about, may]);
          expect([about, wrongWith({ before, now: gone, hostward }).length === 0]).toEqual([about, !may]);
        }
    expect(left).toBeGreaterThan(100);
  });
});
