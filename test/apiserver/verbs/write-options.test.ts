import { describe, expect, it } from 'vitest';
import { deleteOptions, writeOptions } from '../../../src/apiserver/verbs/write-options.ts';

const query = (text: string) => new URLSearchParams(text);

describe('writeOptions()', () => {
  it.each([
    ['', { dryRun: false, fieldValidation: 'Warn', force: false }],
    ['dryRun=All', { dryRun: true, fieldValidation: 'Warn', force: false }],
    ['dryRun=All&dryRun=All', { dryRun: true, fieldValidation: 'Warn', force: false }],
    ['dryrun=All', { dryRun: false, fieldValidation: 'Warn', force: false }],
    ['fieldValidation=Strict&force=true', { dryRun: false, fieldValidation: 'Strict', force: true }],
  ])('reads "%s"', (text, wanted) => {
    expect(writeOptions(query(text), 'CreateOptions')).toEqual(wanted);
  });

  it.each([
    ['dryRun=Some', /dryRun/],
    // kube-apiserver 1.36 answers 422 to each of these; nobody who writes dryRun means a real write.
    ['dryRun=', /dryRun: Unsupported value/],
    ['dryRun', /dryRun: Unsupported value/],
    ['dryRun=All&dryRun=', /dryRun: Unsupported value/],
    ['fieldValidation=strict', /fieldValidation/],
    [`fieldManager=${'m'.repeat(129)}`, /may not be more than 128 bytes/],
    ['fieldManager=a%E2%80%AE', /invalid character U\+202E \(at position 1\)/],
  ])('refuses "%s"', (text, says) => {
    expect(() => writeOptions(query(text), 'CreateOptions')).toThrow(says);
  });
});

describe('deleteOptions()', () => {
  it.each([
    ['', {}],
    ['dryRun=All', { dryRun: true }],
    ['gracePeriodSeconds=5', { gracePeriodSeconds: 5 }],
    ['propagationPolicy=Foreground', { propagation: 'Foreground' }],
    ['orphanDependents=true', { propagation: 'Orphan' }],
    ['orphanDependents=false', { propagation: 'Background' }],
  ])('reads the query "%s"', (text, wanted) => {
    const without = { dryRun: false, gracePeriodSeconds: undefined, propagation: undefined };
    expect(deleteOptions(undefined, query(text))).toMatchObject({ ...without, ...wanted });
  });

  it.each(['dryRun=', 'dryRun', 'dryRun=&dryRun=All'])('refuses the query "%s"', (text) => {
    expect(() => deleteOptions(undefined, query(text))).toThrow(/dryRun: Unsupported value/);
    expect(() => deleteOptions({}, query(text), 'strict')).toThrow(/say it once/);
  });

  it('refuses orphanDependents beside propagationPolicy', () => {
    const both = query('propagationPolicy=Foreground&orphanDependents=true');
    expect(() => deleteOptions(undefined, both)).toThrow(/cannot be both set/);
  });

  it('reads preconditions from the body', () => {
    const body = { preconditions: { uid: 'u', resourceVersion: '7' }, dryRun: ['All'] };
    expect(deleteOptions(body, query(''))).toMatchObject({ uid: 'u', resourceVersion: '7', dryRun: true });
  });

  it('ignores the query when there is a body, like the real server', () => {
    expect(deleteOptions({}, query('dryRun=All'))).toMatchObject({ dryRun: false });
  });

  it('refuses a query that disagrees with the body in the strict dialect', () => {
    expect(() => deleteOptions({}, query('dryRun=All'), 'strict')).toThrow(/dryRun=All/);
    expect(deleteOptions({ dryRun: ['All'] }, query('dryRun=All'), 'strict')).toMatchObject({ dryRun: true });
  });

  it('refuses a grace period whose end is no date', () => {
    const says = /must be less than or equal to 3153600000/;
    expect(() => deleteOptions(undefined, query('gracePeriodSeconds=121645100408832000'))).toThrow(says);
    expect(() => deleteOptions({ gracePeriodSeconds: 3_153_600_001 }, query(''))).toThrow(says);
    expect(deleteOptions({ gracePeriodSeconds: 3_153_600_000 }, query(''))).toMatchObject({
      gracePeriodSeconds: 3_153_600_000,
    });
  });

  it.each([[{ dryRun: ['Some'] }], [{ propagationPolicy: 'Later' }]])('refuses %j', (body) => {
    expect(() => deleteOptions(body, query(''))).toThrow(/Unsupported value/);
  });
});
