// What the daemons of all suites between real API servers have used together. Each suite left its part in a folder; .ci/run names it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RecordedRequest } from '../../contract/sync-stage/backend.ts';
import { shippedRolesSuite } from './shipped-roles.ts';

const folder = process.env['HOSTWARD_USED_RIGHTS'];

describe.skipIf(folder === undefined)(
  `all suites together${folder === undefined ? ' (skipped: HOSTWARD_USED_RIGHTS names no folder; run .ci/run)' : ''}`,
  () => {
    const parts = () =>
      readdirSync(folder ?? '').map(
        (file) => JSON.parse(readFileSync(join(folder ?? '', file), 'utf8')) as RecordedRequest[],
      );

    it('are several suites, and each used something', () => {
      const sizes = parts().map((part) => part.length);
      expect(sizes.length).toBeGreaterThanOrEqual(5);
      expect(Math.min(...sizes)).toBeGreaterThan(0);
    });

    shippedRolesSuite(async () => parts().flat());
  },
);
