import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headOf, headOfEvent } from '../../../src/cluster/window/event-intake.ts';

const names = { name: 'a', namespace: 'n', uid: 'u-1', resourceVersion: '7' };
const head = { kind: 'Endpoints', name: 'a', namespace: 'n', resourceVersion: '7' };
const text = (metadata: object, rest: object = {}): string =>
  JSON.stringify({ kind: 'Endpoints', apiVersion: 'v1', metadata, ...rest });
const read = (json: string) => headOf(Buffer.from(json));

describe('the head of an object', () => {
  it('is read in the order of kube-apiserver and in any other order of the names', () => {
    expect(read(text({ name: 'a', generateName: 'a-', namespace: 'n', uid: 'u', resourceVersion: '7' }))).toEqual(head);
    expect(read(text({ resourceVersion: '7', name: 'a', namespace: 'n', labels: {} }))).toEqual(head);
  });

  it('does not depend on the text after the names', () => {
    expect(read(`${text(names).slice(0, -2)},oh no`)).toEqual(head);
  });

  const headless: Record<string, string> = {
    'names after a member that is not a text': text({ labels: { resourceVersion: '9' }, ...names }),
    'a name that is missing': text({ name: 'a', resourceVersion: '7', labels: { namespace: 'n' } }),
    'a name that is escaped': text({ ...names, name: 'a\\"' }),
    'a Status': '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}',
    'a text that ends inside the head': text(names).slice(0, 60),
    'members that come first': JSON.stringify({ status: 'x', kind: 'Endpoints', apiVersion: 'v1', metadata: names }),
    'a text that is not JSON': '<html>',
    'an empty text': '',
  };
  for (const [name, json] of Object.entries(headless))
    it(`is not found for ${name}`, () => {
      expect(read(json)).toBeUndefined();
    });

  it('of an ADDED or MODIFIED event comes with the type of the event', () => {
    const event = (type: string) => headOfEvent(Buffer.from(`{"type":"${type}","object":${text(names)}}`));
    expect(event('MODIFIED')).toEqual({ type: 'MODIFIED', head });
    expect(event('ADDED')).toEqual({ type: 'ADDED', head });
    for (const type of ['DELETED', 'BOOKMARK', 'ERROR']) expect(event(type)).toBeUndefined();
    expect(headOfEvent(Buffer.from(text(names)))).toBeUndefined();
  });

  it('of an event is not found when the line holds two events', () => {
    const event = (labels: object) => `{"type":"MODIFIED","object":${text({ ...names, labels })}}`;
    const written = event({ a: '}{"type":"' });
    expect(headOfEvent(Buffer.from(written))).toEqual({ type: 'MODIFIED', head });
    expect(headOfEvent(Buffer.from(written + event({})))).toBeUndefined();
  });

  it('always equals the parsed object, for every choice and order of the labels', () => {
    const word = fc.oneof(
      fc.constantFrom(
        'name',
        'namespace',
        'resourceVersion',
        'kind',
        'metadata',
        '"',
        '\\',
        '","name":"b',
        '{"kind":"',
      ),
      fc.string({ unit: 'binary' }),
    );
    const map = fc.dictionary(word, word);
    const members = fc.tuple(
      fc.record(
        { name: word, namespace: word, resourceVersion: word, uid: word, labels: map, annotations: map },
        {
          requiredKeys: [],
        },
      ),
      fc.infiniteStream(fc.nat()),
    );
    fc.assert(
      fc.property(members, fc.constantFrom('Endpoints', 'Secret'), ([made, ranks], kind) => {
        const order = Object.entries(made).map((entry) => ({ entry, rank: ranks.next().value }));
        const metadata = Object.fromEntries(order.sort((a, b) => a.rank - b.rank).map(({ entry }) => entry));
        const seen = read(JSON.stringify({ kind, apiVersion: 'v1', metadata, data: made.labels }));
        if (seen === undefined) return;
        const { name, namespace, resourceVersion } = made;
        const asLatin1 = (value: string | undefined) => value && Buffer.from(value).toString('latin1');
        expect(seen).toEqual({
          kind,
          name: asLatin1(name),
          namespace: asLatin1(namespace),
          resourceVersion: asLatin1(resourceVersion),
        });
      }),
      { numRuns: 2000 },
    );
  });
});
