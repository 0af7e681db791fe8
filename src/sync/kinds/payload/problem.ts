// Building blocks for the checks of a payload: a problem is found deep inside, and its path grows on the way up. Pure.
import { isRecord, shapeOf } from '../../../object/text/json.ts';
import { type ObjectPath, shownKey } from '../../plan/excerpt.ts';
import type { ResultProblem } from '../../plan/kind.ts';

/** A problem below the value that was judged. Its path is made only when there is one, because most values have none. */
export interface Below {
  place: ObjectPath;
  said: string;
}

export function here(said: string): Below {
  return { place: [], said };
}

export function at(key: string, said: string): Below {
  return { place: [key], said };
}

/** kube-apiserver refuses such an address in a changed object. */
export const mappedAddress = 'must not be an IPv4-mapped IPv6 address; write it as an IPv4 address';

export function under(key: string | number, problem: Below | undefined): Below | undefined {
  return problem && { ...problem, place: [key, ...problem.place] };
}

export function problemOfList(list: unknown, judge: (item: unknown) => Below | undefined): Below | undefined {
  if (!Array.isArray(list)) return here(`must be an array, found ${shapeOf(list)}`);
  for (let index = 0; index < list.length; index++) {
    const problem = judge(list[index]);
    if (problem !== undefined) return under(index, problem);
  }
  return undefined;
}

/** The API server drops unknown fields silently, so the stored object would never equal the wanted one. */
export function problemOfFields(value: object, fields: ReadonlySet<string>, kinds: string): Below | undefined {
  for (const key in value)
    if (!fields.has(key)) return here(`has a field "${shownKey(key)}", which ${kinds} do not have`);
  return undefined;
}

export function isTextMap(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}

/** The problem with its whole path, which begins with a field of the object. */
export function resultProblem(problem: Below | undefined): ResultProblem | undefined {
  if (problem === undefined) return undefined;
  const { place, said } = problem;
  return { place, message: `${placeText(place)} ${said}` };
}

/** `subsets[0].ports[1].name`. */
export function placeText(place: ObjectPath): string {
  return place.map((key, index) => (typeof key === 'number' ? `[${key}]` : index === 0 ? key : `.${key}`)).join('');
}
