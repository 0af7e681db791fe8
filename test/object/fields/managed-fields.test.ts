import { describe, expect, it } from 'vitest';
import { decodeEntries, type ManagedEntry, updateManagedFields } from '../../../src/object/fields/managed-fields.ts';
import { applyObject } from '../../../src/object/fields/server-side-apply.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { processorMs } from '../../own-time.ts';
import { cases } from '../fixture.ts';
import { shapes } from '../shapes.ts';

interface WriteStep {
  update?: KubeObject;
  apply?: KubeObject;
  manager: string;
  force?: boolean;
  conflict?: { message: string; fields: string[] };
  object: object;
  owners: object[];
}

const time = '2026-01-01T00:00:00Z';
const base = { apiVersion: 'v1', time };

function configMap(data: Record<string, string>, managedFields?: unknown[]): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'n', ...(managedFields && { managedFields }) },
    data,
  };
}

/** The object with its new managedFields after the write. */
function updated(live: KubeObject | undefined, object: KubeObject, manager: string, at = time): KubeObject {
  const options = { ...base, manager, time: at, ...shapeOf(object) };
  const managedFields = updateManagedFields(live, object, options);
  return { ...object, metadata: { ...object.metadata, ...(managedFields && { managedFields }) } };
}

function shapeOf(object: KubeObject) {
  const shape = shapes[object.kind ?? ''];
  return shape === undefined ? {} : { shape };
}

function withoutTimes(message: string): string {
  return message.replaceAll(` at ${time}`, '');
}

function ownersOf(object: KubeObject): object[] {
  const entries = (object.metadata.managedFields ?? []) as { operation: string; manager: string; fieldsV1: object }[];
  return entries
    .map(({ operation, manager, fieldsV1 }) => ({ [`${operation} ${manager}`]: fieldsV1 }))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function entriesOf(object: KubeObject): ManagedEntry[] {
  return decodeEntries(object.metadata.managedFields);
}

describe('updateManagedFields() and applyObject(), against the field manager of Kubernetes', () => {
  it.each(cases<{ claim: string; kind: string; steps: WriteStep[] }>('managed-fields'))('$claim', ({ kind, steps }) => {
    let live: KubeObject | undefined;
    for (const step of steps) {
      const object = { ...(step.update ?? step.apply), apiVersion: 'v1', kind } as KubeObject;
      if (step.update !== undefined) live = updated(live, object, step.manager);
      else live = applied(live, object, step);
      const { managedFields: _managedFields, ...metadata } = live?.metadata ?? {};
      expect({ ...live, metadata }).toEqual(step.object);
      expect(ownersOf(live as KubeObject)).toEqual(step.owners);
    }
  });

  function applied(live: KubeObject | undefined, object: KubeObject, step: WriteStep): KubeObject | undefined {
    const options = { ...base, manager: step.manager, force: step.force === true, ...shapeOf(object) };
    const result = applyObject(live, object, options);
    if (result.ok) {
      expect(step.conflict).toBeUndefined();
      return result.object;
    }
    expect(
      withoutTimes(result.status.message ?? '')
        .split('\n')
        .toSorted(),
    ).toEqual(step.conflict?.message.split('\n').toSorted());
    expect(result.status).toMatchObject({ code: 409, reason: 'Conflict' });
    expect(result.conflicts.map(({ path }) => path).toSorted()).toEqual(step.conflict?.fields.toSorted());
    return live;
  }
});

describe('updateManagedFields()', () => {
  it('records the time and the subresource of the last change of a manager', () => {
    const created = updated(undefined, configMap({ x: '1' }), 'a', '2026-01-01T00:00:00Z');
    const untouched = updated(created, configMap({ x: '1' }), 'a', '2026-01-01T00:00:05Z');
    expect(untouched.metadata.managedFields).toEqual(created.metadata.managedFields);
    const options = { ...base, manager: 'a', time: '2026-01-01T00:00:09Z', subresource: 'status' };
    expect(updateManagedFields(created, configMap({ x: '1', y: '1' }), options)).toMatchObject([
      { manager: 'a', operation: 'Update', apiVersion: 'v1', time: '2026-01-01T00:00:00Z', fieldsType: 'FieldsV1' },
      { manager: 'a', time: '2026-01-01T00:00:09Z', subresource: 'status', fieldsV1: { 'f:data': { 'f:y': {} } } },
    ]);
  });

  it('drops all managers on request, and starts again with the next apply', () => {
    const created = updated(undefined, configMap({ x: '1' }), 'a');
    for (const reset of [[], [{}]]) {
      expect(updateManagedFields(created, configMap({ x: '2' }, reset), { ...base, manager: 'b' })).toBeUndefined();
    }
    const result = applyObject(configMap({ x: '1' }), configMap({ x: '2' }), { ...base, manager: 'b', force: false });
    expect(result).toMatchObject({ ok: false, conflicts: [{ manager: 'before-first-apply', path: '.data.x' }] });
  });

  it('keeps the stored entries when a client sends malformed managedFields or omits them', () => {
    const created = updated(undefined, configMap({ x: '1' }), 'a');
    for (const sent of [
      undefined,
      [{ manager: 1 }],
      [{ operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: { x: 1 } }],
    ]) {
      const after = updated(created, configMap({ x: '1' }, sent), 'b');
      expect(entriesOf(after).map(({ manager }) => manager)).toEqual(['a']);
    }
  });

  it('limits the number of update managers', () => {
    let object: KubeObject | undefined;
    for (let n = 10; n < 40; n++) {
      const data = { ...(object?.['data'] as Record<string, string> | undefined), [`k${n}`]: '1' };
      object = updated(object, configMap(data), `client-${n}`, `2026-01-01T00:00:${n}Z`);
    }
    const entries = entriesOf(object as KubeObject);
    expect(entries).toHaveLength(10);
    expect(entries.map(({ manager }) => manager)).toEqual(['ancient-changes', ...numbered(31, 39)]);
    expect(entries[0]?.fields.children.get('f:data')?.children.size).toBe(21);
  });

  it('changes neither object', () => {
    const live = Object.freeze(updated(undefined, configMap({ x: '1' }), 'a'));
    const before = structuredClone(live);
    const after = Object.freeze(configMap({ x: '2' }));
    updateManagedFields(live, after, { ...base, manager: 'b' });
    applyObject(live, after, { ...base, manager: 'b', force: true });
    expect(live).toEqual(before);
    expect(after).toEqual(configMap({ x: '2' }));
  });

  function numbered(from: number, to: number): string[] {
    return Array.from({ length: to - from + 1 }, (_, n) => `client-${from + n}`);
  }
});

describe('applyObject()', () => {
  it('lists a hundred conflicts, with short paths', () => {
    const owned = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${'k'.repeat(2_000)}${at}`, '1']));
    const other = Object.fromEntries(Object.keys(owned).map((name) => [name, '2']));
    const live = updated(undefined, configMap(owned), 'a');
    const result = applyObject(live, configMap(other), { ...base, manager: 'b', force: false });
    if (result.ok) throw new Error('want a conflict');
    expect(result.status.details?.causes).toHaveLength(100);
    expect(result.status.message).toMatch(/^Apply failed with 300 conflicts: .*and 200 more$/s);
    expect(JSON.stringify(result.status).length).toBeLessThan(250_000);
  });

  it('takes no longer for long lists than for their items', () => {
    const before = processorMs();
    const many = Array.from({ length: 6_000 }, (_, at) => `a.b/${at}`);
    const options = { ...base, ...shapeOf(configMap({})), manager: 'a', force: true };
    let live: KubeObject | undefined;
    for (const finalizers of [many, [...many].reverse(), many.map((name) => `c.${name}`), many.slice(0, 3_000), []]) {
      const object = { ...configMap({}), metadata: { name: 'n', finalizers } };
      const result = applyObject(live, object, options);
      if (!result.ok) throw new Error(result.status.message);
      live = result.object;
      expect((live.metadata.finalizers ?? []).join() === finalizers.join()).toBe(true);
    }
    expect(processorMs() - before).toBeLessThan(3_000);
  });

  it('reports whether the object changed, and keeps the time of an apply without a change', () => {
    const options = { ...base, manager: 'a', force: false };
    const first = applyObject(undefined, configMap({ x: '1' }), options);
    if (!first.ok) throw new Error(first.status.message);
    const again = applyObject(first.object, configMap({ x: '1' }), { ...options, time: '2026-01-01T00:00:09Z' });
    expect(again).toEqual({ ok: true, object: first.object, isChanged: false });
    const more = applyObject(first.object, configMap({ x: '1', y: '1' }), { ...options, time: '2026-01-01T00:00:09Z' });
    expect(more).toMatchObject({
      isChanged: true,
      object: { metadata: { managedFields: [{ time: '2026-01-01T00:00:09Z' }] } },
    });
  });

  it('finds an item whose key has its default value', () => {
    const service = (port: object): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'n' },
      spec: { ports: [port] },
    });
    const live = updated(undefined, service({ port: 80, protocol: 'TCP' }), 'a');
    const options = { ...base, manager: 'b', force: false, ...shapeOf(live) };
    const result = applyObject(live, service({ port: 80, name: 'http' }), options);
    expect(result).toMatchObject({ object: { spec: { ports: [{ port: 80, protocol: 'TCP', name: 'http' }] } } });
  });
});
