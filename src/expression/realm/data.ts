// Code that runs inside the isolate: objects, JSON, dates, URIs and calls, bounded and with equal results on every machine.

export const realmData = String.raw`
const isMap = (x) => {
  const prototype = getPrototypeOf(x);
  return prototype === ObjectPrototype || prototype === null;
};
const objectStatics = {
  keys: (x) => objectKeys(guards.$$obj(x)),
  values: (x) => objectValues(guards.$$obj(x)),
  entries: (x) => objectEntries(guards.$$obj(x)),
  assign(into, ...sources) {
    if (isArray(into)) throw new TypeFault('Object.assign() into an array is not available');
    const out = objectAssign(into);
    for (let at = 0; at < sources.length; at++) objectAssign(out, guards.$$obj(sources[at]));
    return out;
  },
  groupBy(items, keyOf) {
    callable(keyOf);
    const list = collect(items);
    const out = { __proto__: null };
    for (let at = 0; at < list.length; at++) {
      const key = guards.$$key(keyOf(list[at], at));
      const group = out[key] === undefined ? (out[key] = []) : out[key];
      group[group.length] = list[at];
    }
    return out;
  },
};

// A builtin with any number of arguments would convert long texts in one go, without a check of the time limit.
const numberOf = (x) => NativeNumber(x);
const ofNumbers = (owner, name) => {
  const native = owner[name];
  return {
    [name](...parts) {
      for (let at = 0; at < parts.length; at++) if (typeof parts[at] !== 'number') parts[at] = numberOf(parts[at]);
      return apply(native, undefined, parts);
    },
  }[name];
};
const mathStatics = {}, textStatics = {};
for (const name of ['max', 'min', 'hypot']) mathStatics[name] = ofNumbers(Math, name);
for (const name of ['fromCharCode', 'fromCodePoint']) textStatics[name] = ofNumbers(String, name);

// A few nested arrays with shared elements can be longer than any memory as JSON, so the value is copied and measured here first.
const jsonDepth = 200;
// Characters of a number like 0.14285714285714285.
const longNumberChars = 20;
// V8 would unwrap a text or number object itself, so the object is unwrapped first: V8 must get the indent that was measured.
const plainIndent = (indent) => {
  if (typeof indent === 'object' && indent !== null && setHas(boxes, getPrototypeOf(indent))) indent = indent.valueOf();
  return typeof indent === 'number' || typeof indent === 'string' ? indent : undefined;
};
const gapOf = (indent) => {
  const gap = typeof indent === 'number' ? indent : typeof indent === 'string' ? indent.length : 0;
  return gap > 10 ? 10 : gap > 0 ? gap : 0;
};
// V8 cannot interrupt its own reviver walk, which takes seconds on deeply nested data.
const revived = (holder, key, revive, depth) => {
  const value = holder[key];
  if (typeof value === 'object' && value !== null) {
    if (depth > jsonDepth) fail('size', 'text to revive is nested deeper than ' + jsonDepth + ' levels');
    const names = objectKeys(value);
    for (let at = 0; at < names.length; at++) {
      const part = revived(value, names[at], revive, depth + 1);
      if (part === undefined) deleteProperty(value, names[at]);
      else value[names[at]] = part;
    }
  }
  return revive(key, value);
};
const boxes = new Set([TextPrototype, NativeNumber.prototype, Boolean.prototype]);
const jsonPart = (value, key, state, depth) => {
  if (typeof value === 'object' && value !== null && typeof value.toJSON === 'function') value = value.toJSON(key);
  if (state.replace !== undefined) value = state.replace(key, value);
  if (typeof value === 'object' && value !== null && setHas(boxes, getPrototypeOf(value))) value = value.valueOf();
  if (typeof value === 'function') return undefined;
  state.budget -= 1 + depth * state.gap;
  if (typeof value === 'string') state.budget -= value.length;
  else if (typeof value === 'number' && (value | 0) !== value) state.budget -= longNumberChars;
  if (state.budget < 0) tooLong();
  if (typeof value !== 'object' || value === null) return value;
  if (depth > jsonDepth) fail('size', 'value is nested deeper than ' + jsonDepth + ' levels, or in a circle');
  if (isArray(value)) {
    const out = [];
    for (let at = 0; at < value.length; at++) {
      const part = jsonPart(value[at], NativeString(at), state, depth + 1);
      out[at] = part === undefined ? null : part;
    }
    return out;
  }
  const out = { __proto__: null };
  const names = state.only === undefined ? objectKeys(value) : state.only;
  for (let at = 0; at < names.length; at++) {
    const part = jsonPart(value[names[at]], names[at], state, depth + 1);
    state.budget -= names[at].length;
    if (part !== undefined) out[names[at]] = part;
  }
  return out;
};
const jsonStatics = {
  parse(text, revive) {
    const source = stringOf(text);
    if (source.length > limits.text) tooLong();
    let parsed;
    try {
      parsed = parseJson(source);
    } catch {
      // The message of V8 would quote the text, which may be a secret.
      throw new SyntaxFault('text is not JSON');
    }
    return typeof revive === 'function' ? revived({ __proto__: null, '': parsed }, '', revive, 0) : parsed;
  },
  stringify(value, replacer, space) {
    const indent = plainIndent(space);
    const state = {
      budget: limits.text,
      gap: gapOf(indent),
      replace: typeof replacer === 'function' ? (key, part) => replacer(key, part) : undefined,
      only: isArray(replacer) ? apply(arrayMethods.map, replacer, [stringOf]) : undefined,
    };
    const text = stringifyJson(jsonPart(value, '', state, 0), null, indent);
    return text === undefined ? undefined : capped(text);
  },
};

const dateUtc = NativeDate.UTC, dateParse = NativeDate.parse;
const dateText = /^\d{4}(?:-\d\d(?:-\d\d)?)?$|(?:Z|GMT|UTC|[+-]\d\d:?\d\d)$/;
const parseDate = (text) => {
  if (text.length > 64 || !regExpTest(dateText, text)) {
    throw new TypeFault('date needs its time zone, as in 2026-01-31T12:00:00Z');
  }
  return dateParse(text);
};
function BoundedDate(...args) {
  if (new.target === undefined) throw new TypeFault('Date() reads the clock, which is not available');
  if (args.length === 0) throw new TypeFault('new Date() reads the clock, which is not available');
  if (args.length > 1) return new NativeDate(apply(dateUtc, undefined, args));
  const [time] = args;
  return new NativeDate(typeof time === 'string' ? parseDate(time) : NativeNumber(time));
}
const dateStatics = { UTC: dateUtc, parse: (text) => parseDate(stringOf(text)) };
// Local time would differ between machines, so all methods use UTC.
const dateMethods = { toString: DatePrototype.toUTCString };
for (const part of ['Date', 'Day', 'FullYear', 'Hours', 'Milliseconds', 'Minutes', 'Month', 'Seconds']) {
  dateMethods['get' + part] = DatePrototype['getUTC' + part];
}

const callFunction = uncurry(Function.prototype.call);
const functionMethods = {
  apply(self, args) {
    if (typeof this !== 'function') throw new TypeFault('apply() needs a function');
    if (args === undefined || args === null) return callFunction(this, self);
    return apply(this, self, list(args, 0));
  },
};
const forEachOf = (native) => ({
  forEach(f) {
    callable(f);
    return apply(native, this, [(value, key, all) => f(value, key, all)]);
  },
});
const mapMethods = forEachOf(Map.prototype.forEach);
const setMethods = forEachOf(Set.prototype.forEach);

const functionsOfRealm = {};
for (const name of ['encodeURIComponent', 'decodeURIComponent', 'encodeURI', 'decodeURI']) {
  const native = globalThis[name];
  functionsOfRealm[name] = { [name]: (text) => native(matchable(stringOf(text), 'text for ' + name + '()')) }[name];
}
for (const name of ['parseInt', 'parseFloat']) {
  const native = globalThis[name];
  functionsOfRealm[name] = { [name]: (text, radix) => native(text, radix) }[name];
}
`;
