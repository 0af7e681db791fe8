// The live suites of sync between two embedded API servers; test/kube/sync/sync.test.ts runs the same suites between real servers.
// The suites with disturbances are in live-faults.test.ts.
import { afterAll, beforeAll, describe } from 'vitest';
import { addressesSuite } from '../../contract/sync/addresses.ts';
import { countingSuite } from '../../contract/sync/counting.ts';
import { goldenSuite } from '../../contract/sync/golden.ts';
import { goldenSlicesSuite } from '../../contract/sync/golden-slices.ts';
import { mappingSuite } from '../../contract/sync/mapping.ts';
import { ownerSuite } from '../../contract/sync/owner.ts';
import { referencesSuite } from '../../contract/sync/references.ts';
import { slicesSuite } from '../../contract/sync/slices.ts';
import { twoWaySuite } from '../../contract/sync/two-way.ts';
import { everyVerbSuite } from '../../contract/sync-stage/every-verb.ts';
import { type EmbeddedBackend, startEmbeddedBackend } from './embedded-backend.ts';

describe('live sync between two embedded API servers', () => {
  let backend: EmbeddedBackend;
  beforeAll(async () => {
    backend = await startEmbeddedBackend();
  });
  afterAll(() => backend.stop());

  goldenSuite(() => backend);
  countingSuite(() => backend);
  mappingSuite(() => backend);
  ownerSuite(() => backend);
  addressesSuite(() => backend);
  slicesSuite(() => backend);
  referencesSuite(() => backend);
  goldenSlicesSuite(() => backend);
  twoWaySuite(() => backend);
  everyVerbSuite(() => backend);
});
