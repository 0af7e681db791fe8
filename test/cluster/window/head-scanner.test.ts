import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HeadScanner, type ListedHead } from '../../../src/cluster/window/text/head-scanner.ts';

function scan(text: string, sizes: readonly number[] = [64 * 1024]) {
  const heads: ListedHead[] = [];
  const scanner = new HeadScanner((head) => heads.push(head));
  const bytes = Buffer.from(text);
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    scanner.feed(Buffer.from(bytes.subarray(at, at + size)));
    at += size;
  }
  return { heads, frame: scanner.frame, fault: scanner.fault };
}

/** The same reading with JSON.parse. */
function parsed(text: string): { heads: ListedHead[]; frame: object } {
  const list = JSON.parse(text) as {
    metadata?: Record<string, unknown>;
    items?: { metadata: Record<string, unknown> }[];
  };
  const textAt = (from: Record<string, unknown> | undefined, member: string): string =>
    typeof from?.[member] === 'string' ? (from[member] as string) : '';
  return {
    heads: (list.items ?? []).map(({ metadata }) => ({
      namespace: textAt(metadata, 'namespace'),
      name: textAt(metadata, 'name'),
      uid: textAt(metadata, 'uid'),
      resourceVersion: textAt(metadata, 'resourceVersion'),
    })),
    frame: {
      kind: textAt(list as Record<string, unknown>, 'kind'),
      resourceVersion: textAt(list.metadata, 'resourceVersion'),
      continueToken: textAt(list.metadata, 'continue'),
      apiVersion: textAt(list as Record<string, unknown>, 'apiVersion'),
      items: Array.isArray(list.items) ? 'list' : list.items === null ? 'null' : 'absent',
    },
  };
}

/** Texts full of what could mislead a scanner. */
const tricky = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '{',
    '}]',
    '","name":"x',
    '{"metadata":{"name":"forged"}}',
    '\\u0022',
    'ünïcödé 😀',
  ),
);
const memberName = fc.oneof(
  tricky,
  fc.constantFrom(
    'metadata',
    'name',
    'uid',
    'items',
    'kind',
    'apiVersion',
    'resourceVersion',
    'namespace',
    'continue',
    'constructor',
  ),
);
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tricky,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(memberName, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

const filled = fc.oneof(tricky, fc.constantFrom('web', 'a-1', '42')).filter((text) => text !== '');
const others = fc.dictionary(memberName, anything, { maxKeys: 4, noNullPrototype: true });
/** The members in any order: those that matter always occur once. */
const shuffled = <T extends object>(members: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  members.chain((object) =>
    fc
      .shuffledSubarray(Object.entries(object), { minLength: Object.keys(object).length })
      .map((entries) => Object.fromEntries(entries) as T),
  );
const metadata = shuffled(
  fc
    .tuple(
      others,
      fc.record({ name: filled, uid: filled, resourceVersion: filled }),
      fc.option(filled, { nil: undefined }),
    )
    .map(([more, head, namespace]) => ({ ...more, ...head, ...(namespace !== undefined && { namespace }) })),
);
const item = shuffled(fc.tuple(others, metadata).map(([more, head]) => ({ ...more, metadata: head })));
const list = shuffled(
  fc
    .tuple(others, fc.option(fc.array(item, { maxLength: 4 })), filled, filled, fc.option(filled, { nil: undefined }))
    .map(([more, items, kind, resourceVersion, token]) => ({
      ...more,
      kind,
      items,
      metadata: { ...(token !== undefined && { continue: token }), resourceVersion },
    })),
);

test('the heads are those that JSON.parse finds, in any order of members and whatever the chunks', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(list, sizes, fc.constantFrom(undefined, 2), (value, chunks, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      expect(scan(text, chunks)).toEqual({ ...parsed(text), fault: undefined });
    }),
    { numRuns: 500 },
  );
});

test('an escaped member name and an escaped value are decoded, also where a chunk ends inside the escape', () => {
  const text =
    '{"kind":"EndpointsList","metadata":{"resourceVersion":"7"},"items":[{"\\u006detadata":{"n\\u0061me":"a\\"b","uid":"\\\\","resourceVersion":"5"}}]}';
  expect(scan(text, [1])).toEqual({ ...parsed(text), fault: undefined });
  expect(scan(text, [1]).heads[0]?.name).toBe('a"b');
});

test('a member that occurs twice counts with its last value', () => {
  const text =
    '{"kind":"A","kind":"BList","metadata":{"continue":"x"},"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"old","namespace":"n"},"metadata":{"name":"a","name":"b","uid":"u","resourceVersion":"5"}}]}';
  expect(scan(text)).toEqual({ ...parsed(text), fault: undefined });
});

describe('what is no whole list has a fault', () => {
  const whole = JSON.stringify({
    kind: 'EndpointsList',
    metadata: { resourceVersion: '7' },
    items: [{ metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '5' } }],
  });

  test('every shortened list', () => {
    for (let end = 0; end < whole.length; end++) expect(scan(whole.slice(0, end)).fault).toBeDefined();
    expect(scan(whole).fault).toBeUndefined();
  });

  test.each([
    ['[]', 'the answer is not a list'],
    ['{}}', 'the list has more ends than beginnings'],
    ['{"items":[{"metadata":{"name":"a","uid":"u"}}]}', 'an object of the list has no head'],
    ['{"items":[{}]}', 'an object of the list has no head'],
    ['{"kind":"\\x"}', 'a text of the list has an escape that JSON does not know'],
    [`{"kind":"${'x'.repeat(70_000)}"}`, 'a text in the head of an object is longer than 65536 bytes'],
  ])('%#: %s', (text, fault) => {
    expect(scan(text).fault).toBe(fault);
  });
});
