import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTarget } from '../../../src/apiserver/request/target.ts';

const about = (method: string, url: string) => {
  const { isResource, verb, group, version, namespace, resource, name, subresource } = parseTarget(method, url);
  return isResource ? [verb, group, version, namespace, resource, name, subresource].join('|') : `path ${verb}`;
};

describe('parseTarget()', () => {
  const cases: [string, string, string][] = [
    ['GET', '/api/v1/namespaces', 'list||v1||namespaces||'],
    ['GET', '/api/v1/namespaces/a', 'get||v1|a|namespaces|a|'],
    ['PUT', '/api/v1/namespaces/a/finalize', 'update||v1|a|namespaces|a|finalize'],
    ['PATCH', '/api/v1/namespaces/a/status', 'patch||v1|a|namespaces|a|status'],
    ['GET', '/api/v1/namespaces/a/pods', 'list||v1|a|pods||'],
    ['GET', '/api/v1/namespaces/a/pods/', 'list||v1|a|pods||'],
    ['GET', '/api/v1/pods?watch=1', 'watch||v1||pods||'],
    ['GET', '/api/v1/pods?watch=false', 'list||v1||pods||'],
    ['GET', '/api/v1/namespaces/a/pods/b?watch=true', 'get||v1|a|pods|b|'],
    ['DELETE', '/api/v1/namespaces/a/pods', 'deletecollection||v1|a|pods||'],
    ['DELETE', '/api/v1/namespaces/a/pods/b', 'delete||v1|a|pods|b|'],
    ['POST', '/api/v1/namespaces/a/serviceaccounts/b/token', 'create||v1|a|serviceaccounts|b|token'],
    ['GET', '/apis/apps/v1/namespaces/a/deployments/b/scale', 'get|apps|v1|a|deployments|b|scale'],
    ['GET', '/api/v1/watch/namespaces/a/pods', 'watch||v1|a|pods||'],
    ['GET', '/api/v1/namespaces/a/pods/b%20c', 'get||v1|a|pods|b c|'],
    ['GET', '/api/v1', 'path get'],
    ['GET', '/apis/apps/v1', 'path get'],
    ['GET', '/apis/apps', 'path get'],
    ['GET', '/healthz', 'path get'],
    ['GET', '/api/v1/namespaces//pods', 'path get'],
    ['GET', '/api/v1/namespaces/a/pods/b/c/d', 'get||v1|a|pods|b|c'],
  ];
  it.each(cases)('reads %s %s as %s', (method, url, wanted) => {
    expect(about(method, url)).toBe(wanted);
  });

  it('says that a path goes on below the subresource', () => {
    const url = '/api/v1/nodes/n/proxy';
    expect(parseTarget('GET', url).isDeeper).toBeUndefined();
    expect(parseTarget('GET', `${url}/`).isDeeper).toBeUndefined();
    for (const path of [`${url}/metrics`, `${url}/a/b/c`, '/api/v1/watch/namespaces/x/pods/p/proxy/a'])
      expect(parseTarget('GET', path)).toMatchObject({ isResource: true, isDeeper: true });
  });

  it('narrows the old watch path of one object to that object', () => {
    const { query } = parseTarget('GET', '/api/v1/watch/namespaces/a/pods/b?resourceVersion=7');
    expect(query.get('fieldSelector')).toBe('metadata.name=b');
  });

  it('accepts any text as a URL', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        parseTarget('GET', `/${text}`);
        parseTarget('GET', `/api/v1/${text}`);
      }),
    );
  });
});
