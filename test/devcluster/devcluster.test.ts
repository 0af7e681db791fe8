import { afterEach, describe, expect, it } from 'vitest';
import { type Devcluster, type DevclusterOptions, startDevcluster } from '../../src/devcluster/devcluster.ts';
import { ApiClient } from '../contract/client.ts';

describe('startDevcluster()', () => {
  const running: Devcluster[] = [];
  const start = async (options: DevclusterOptions = {}) => {
    const cluster = await startDevcluster(options);
    running.push(cluster);
    return cluster;
  };
  afterEach(async () => {
    for (const cluster of running.splice(0)) await cluster.stop();
  });

  it('answers over TLS with a certificate of its own CA', async () => {
    const cluster = await start();
    const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken });
    const answer = await client.request('GET', '/api/v1/namespaces');
    expect(answer.status).toBe(200);
    await client.close();
  });
});
