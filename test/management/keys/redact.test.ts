import { describe, expect, it } from 'vitest';
import { detachHidden, hiddenPaths, mergeHidden } from '../../../src/management/keys/secret/redact.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const spec = {
  displayName: 'x',
  key: 'MARK-key',
  identity: { email: 'a@b', connectorData: 'MARK-connector' },
  oidcLogin: { idToken: 'MARK-id', accessToken: 'MARK-access', refreshToken: 'MARK-refresh', lastRefresh: 't' },
};
const object = (rest: Partial<KubeObject> = {}): KubeObject => ({ metadata: { name: 'k' }, spec, ...rest });

describe('detachHidden()', () => {
  it('takes every hidden field off and gives them apart', () => {
    const { redacted, hidden } = detachHidden(object());
    expect(redacted).toEqual({
      metadata: { name: 'k' },
      spec: { displayName: 'x', identity: { email: 'a@b' }, oidcLogin: { lastRefresh: 't' } },
    });
    expect(hidden).toEqual({
      key: 'MARK-key',
      connectorData: 'MARK-connector',
      idToken: 'MARK-id',
      accessToken: 'MARK-access',
      refreshToken: 'MARK-refresh',
    });
    expect(hiddenPaths).toEqual([
      'spec.key',
      'spec.identity.connectorData',
      'spec.oidcLogin.idToken',
      'spec.oidcLogin.accessToken',
      'spec.oidcLogin.refreshToken',
    ]);
  });

  it('leaves the object that came in alone', () => {
    const whole = object();
    detachHidden(whole);
    expect(JSON.stringify(whole)).toContain('MARK-key');
  });

  it('scrubs what kubectl wrote into the annotation', () => {
    const annotations = { [lastApplied]: `${JSON.stringify({ kind: 'OwnedAccessKey', spec })}\n`, mine: 'x' };
    const { redacted } = detachHidden(object({ metadata: { annotations } }));
    expect(JSON.stringify(redacted)).not.toContain('MARK');
    expect(JSON.parse(redacted.metadata.annotations?.[lastApplied] ?? '')).toEqual({
      kind: 'OwnedAccessKey',
      spec: { displayName: 'x', identity: { email: 'a@b' }, oidcLogin: { lastRefresh: 't' } },
    });
    expect(redacted.metadata.annotations?.['mine']).toBe('x');
  });

  it('keeps an annotation without secrets byte for byte, and drops one that nobody can read', () => {
    const text = ' {"spec": {"displayName": "x"}}\n';
    const of = (value: string) =>
      detachHidden(object({ metadata: { annotations: { [lastApplied]: value } } })).redacted;
    expect(of(text).metadata.annotations).toEqual({ [lastApplied]: text });
    expect(of('{"spec": {"key": "MARK-key"').metadata.annotations).toEqual({});
    expect(of('null').metadata.annotations).toEqual({ [lastApplied]: 'null' });
  });

  it('hides values of a wrong type as well', () => {
    const { redacted, hidden } = detachHidden(object({ spec: { key: ['MARK-key'], identity: 'x' } }));
    expect([redacted['spec'], hidden]).toEqual([{ identity: 'x' }, {}]);
  });

  it('has nothing to do without a spec', () => {
    expect(detachHidden({ metadata: {} })).toEqual({ redacted: { metadata: {} }, hidden: {} });
  });
});

describe('mergeHidden()', () => {
  const stored = { connectorData: 'old', idToken: 'old', refreshToken: 'old' };
  it.each([
    ['absent keeps', {}, {}, stored],
    ['an absent parent keeps', {}, { identity: undefined }, stored],
    ['a text replaces', { connectorData: 'new' }, { identity: {} }, { ...stored, connectorData: 'new' }],
    ['an empty text removes', { idToken: '' }, { oidcLogin: {} }, { connectorData: 'old', refreshToken: 'old' }],
    ['null clears identity', {}, { identity: null }, { idToken: 'old', refreshToken: 'old' }],
    ['null clears logins', {}, { oidcLogin: null }, { connectorData: 'old' }],
    ['the key is never among them', { key: 'k' }, {}, stored],
  ])('%s', (_, given, written, expected) => {
    expect(mergeHidden(stored, given, object({ spec: written }))).toEqual(expected);
  });
});
