import { describe, expect, it } from 'vitest';
import { readObjects } from '../../../src/cli/offline/read-objects.ts';
import { toYaml } from '../../../src/cli/offline/yaml-text.ts';
import { scene } from '../scene.ts';

const read = async (text: string) => {
  const found = await readObjects(scene({ stdin: text }).context, ['-']);
  return found.map(({ object }) => `${object.apiVersion} ${object.kind} ${object.metadata.name}`);
};

/** Nine lists, each with ten aliases of the list before it. */
const aliasBomb = [
  'kind: A\nmetadata: {name: a}\nl0: &l0 [x]',
  ...Array.from({ length: 9 }, (_, at) => `l${at + 1}: &l${at + 1} [${Array(10).fill(`*l${at}`)}]`),
].join('\n');

describe('readObjects()', () => {
  it.each<[string, string, string[]]>([
    ['one document', 'apiVersion: v1\nkind: Endpoints\nmetadata: {name: a}\n', ['v1 Endpoints a']],
    [
      'several documents, empty ones left out',
      '---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: Endpoints\nmetadata: {name: b}\n',
      ['v1 Service a', 'v1 Endpoints b'],
    ],
    ['JSON', '{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"a"}}', ['v1 Endpoints a']],
    [
      'a List in a List',
      '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"a"}}]}]}',
      ['v1 Endpoints a'],
    ],
    [
      'a typed list, whose items have no kind',
      '{"apiVersion":"v1","kind":"EndpointsList","items":[{"metadata":{"name":"a"}}]}',
      ['v1 Endpoints a'],
    ],
    ['nothing', '', []],
    ['an empty list without items', '{"apiVersion":"v1","kind":"List","items":null}', []],
  ])('reads %s', async (_, text, expected) => {
    expect(await read(text)).toEqual(expected);
  });

  it.each<[string, string, string]>([
    ['broken YAML with its place', 'kind: [a\nb: c', 'standard input:2:'],
    ['broken JSON with its place', '{"kind": "Endpoints",\n"metadata": {]}', 'standard input:2:'],
    ['a scalar', 'hello', 'wanted a Kubernetes object, found "hello"'],
    ['an object without kind', 'metadata: {name: a}', 'without a kind'],
    [
      'an object without name',
      'kind: Endpoints\nmetadata: {}',
      'metadata.name in every object, found Endpoints without it',
    ],
    ['a name that is a number', 'kind: Endpoints\nmetadata: {name: 5}', 'found 5 in Endpoints; put it in quotes'],
    ['a list', '- a', 'found a list'],
    ['an alias bomb', aliasBomb, 'with their aliases written out the objects are longer than 1048576 characters'],
    ['deep JSON', `{"kind":"A","metadata":{"name":"a"},"x":${'['.repeat(600)}${']'.repeat(600)}}`, 'deeper than 500'],
    [
      'a duplicate object',
      'kind: A\nmetadata: {name: a, namespace: n}\n---\nkind: A\nmetadata: {name: a, namespace: n}\n',
      'standard input: wanted each object once, found A "n/a" twice',
    ],
  ])('refuses %s', async (_, text, expected) => {
    await expect(read(text)).rejects.toThrow(expected);
  });

  it('merges maps as kubectl does: explicit keys win over merged keys', async () => {
    const text = 'kind: A\nmetadata: &m {name: a, labels: &l {x: "1", y: "2"}}\nother: {<<: [*l, *m], y: "3"}\n';
    const [read] = await readObjects(scene({ stdin: text }).context, ['-']);
    expect(read?.object['other']).toEqual({ x: '1', y: '3', name: 'a', labels: { x: '1', y: '2' } });
  });

  it('refuses an alias bomb', async () => {
    const bomb = [
      'a: &a [x, x]',
      ...[...'bcdefgh'].map((name, index) => `${name}: &${name} [${Array(30).fill(`*${'abcdefg'[index]}`)}]`),
    ];
    await expect(read(bomb.join('\n'))).rejects.toThrow('the objects cannot be read as YAML or JSON');
  });

  it('keeps time stamps and words like "on" as they are written', async () => {
    const value = {
      kind: 'Endpoints',
      metadata: { name: 'on', annotations: { a: 'yes', b: '2026-01-01', c: '0123', d: '' } },
    };
    const [read] = await readObjects(scene({ stdin: toYaml(value) }).context, ['-']);
    expect(read?.object).toEqual(value);
    expect(toYaml({ a: 'yes' })).toBe("a: 'yes'\n");
  });
});
