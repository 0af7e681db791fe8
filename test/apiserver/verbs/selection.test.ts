import { describe, expect, it } from 'vitest';
import type { Kind } from '../../../src/apiserver/kinds/kind.ts';
import type { Visibility } from '../../../src/apiserver/request/identity.ts';
import { parseTarget } from '../../../src/apiserver/request/target.ts';
import { selectionOf } from '../../../src/apiserver/verbs/selection.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';

const colorOf = (object: KubeObject) => String(object['color']);
const kind: Kind = {
  group: 'shop.example',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  namespaced: true,
  verbs: ['list'],
  schema: 'Widget',
  storage: 'widgets',
  strategy: {},
  columns: [],
  selectableFields: { color: colorOf },
  indexes: { color: (object) => [colorOf(object)] },
};
const red: KubeObject = { metadata: { name: 'a', namespace: 'n', labels: { app: 'x' } }, color: 'red' };

function selected(query: string, visibility?: Visibility) {
  const target = parseTarget('GET', `/apis/shop.example/v1/namespaces/n/widgets?${query}`);
  return selectionOf({ target, kind, visibility });
}

describe('selectionOf()', () => {
  it.each([
    ['', true],
    ['labelSelector=app%3Dx', true],
    ['labelSelector=app%3Dy', false],
    ['fieldSelector=metadata.name%3Da', true],
    ['fieldSelector=metadata.namespace%3Dother', false],
    ['fieldSelector=color%3Dred', true],
    ['fieldSelector=color!%3Dred', false],
    ['labelSelector=app%3Dx&fieldSelector=color%3Dblue', false],
  ])('matches a red widget by "%s": %s', (query, matches) => {
    expect(selected(query).matches(red)).toBe(matches);
  });

  it('finds the only name, the index and the selection of every object', () => {
    expect(selected('')).toMatchObject({ takesAll: true, onlyName: undefined, index: undefined });
    expect(selected('fieldSelector=metadata.name%3Da')).toMatchObject({ takesAll: false, onlyName: 'a' });
    expect(selected('fieldSelector=color%3Dred').index).toEqual({ field: 'color', values: ['red'] });
    expect(selected('fieldSelector=color!%3Dred').index).toBeUndefined();
  });

  it('adds the visibility of the caller to the selectors', () => {
    const visibility: Visibility = { sees: () => false, index: { field: 'owner', values: ['ann'] } };
    const selection = selected('fieldSelector=color%3Dred', visibility);
    expect(selection.matches(red)).toBe(false);
    expect(selection).toMatchObject({ takesAll: false, index: { field: 'owner', values: ['ann'] } });
  });

  it('refuses the namespace of a kind that has none', () => {
    const target = parseTarget('GET', '/apis/shop.example/v1/widgets?fieldSelector=metadata.namespace%3Dn');
    const ofCluster = { ...kind, namespaced: false };
    expect(() => selectionOf({ target, kind: ofCluster, visibility: undefined })).toThrow(
      /field label not supported: metadata\.namespace/,
    );
  });

  it.each([
    ['fieldSelector=size%3D1', /field label not supported: size/],
    ['labelSelector=app%20in', /unable to parse requirement/],
  ])('refuses "%s"', (query, says) => {
    expect(() => selected(query)).toThrow(says);
  });
});
