// Server-side apply: the fields that a manager says, and no others, are its own; who else has set them is asked first.
import type { KubeObject } from '../object/object.ts';
import type { Submitted } from './incoming-object.ts';
import type { Call, Outcome } from './kit.ts';
import { badRequest } from './status-fault.ts';
import type { WriteOptions } from './write-options.ts';

export async function applyObject(_call: Call, _submitted: Submitted, _options: WriteOptions): Promise<Outcome> {
  throw badRequest('apply the object: server-side apply is not served');
}
export type Applied = KubeObject;
