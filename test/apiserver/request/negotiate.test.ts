import { describe, expect, it } from 'vitest';
import { negotiate } from '../../../src/apiserver/request/negotiate.ts';
import { StatusFault } from '../../../src/apiserver/request/status-fault.ts';

describe('negotiate()', () => {
  const chosen = (accept: string | undefined) => {
    const { representation, mediaType, aggregated } = negotiate(accept);
    return `${representation} ${mediaType}${aggregated === undefined ? '' : ` ${aggregated}`}`;
  };

  it.each([
    [undefined, 'object application/json'],
    ['*/*', 'object application/json'],
    ['application/vnd.kubernetes.protobuf, */*', 'object application/json'],
    ['application/vnd.kubernetes.protobuf,application/json', 'object application/json'],
    ['application/yaml', 'object application/yaml'],
    ['application/json;q=0.2, application/yaml', 'object application/yaml'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'table application/json'],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', 'object application/json'],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', 'metadata application/json'],
    [
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json',
      'object application/json v2',
    ],
  ])('answers %s with %s', (accept, wanted) => {
    expect(chosen(accept)).toBe(wanted);
    // The second call reads the remembered answer.
    expect(chosen(accept)).toBe(wanted);
  });

  it.each(['text/html', 'application/vnd.kubernetes.protobuf', 'application/json;as=Nonsense;v=v1;g=meta.k8s.io'])(
    'refuses %s with 406',
    (accept) => {
      expect(() => negotiate(accept)).toThrow(StatusFault);
    },
  );
});
