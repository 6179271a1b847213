/** Who it is, of the answers of both session routes. */
export interface Identity {
  readonly user: { readonly id: string } | null;
  readonly organizationId?: string;
}

/** What `session()` gives. */
type Answer =
  | { readonly data: Identity; readonly error: null }
  | { readonly data: null; readonly error: { readonly status: number } };

/** This tab, among those of the browser that use the same session route. */
interface Tab<Session> {
  readonly subscribe: (listener: (session: Session) => void) => () => void;
  /** Waits for what the session route answers, and tells the others where it is news. */
  readonly learn: (answer: Promise<Session>) => void;
  /** This tab may have signed in or out: the others ask the session route, and so does this one. */
  readonly change: () => void;
}

type Channel = InstanceType<typeof BroadcastChannel>;

/** A browser's. */
declare const sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };

/** The storage remembers what this tab's last page knew: most sign-ins lead through another one. */
function createMemory(name: string): (answer: Answer) => boolean {
  let known: string | null = null;
  return function isNews({ data, error }) {
    // An outage says nothing about who is signed in.
    if (error !== null && error.status !== 401) return false;
    let before = known;
    known = data === null ? '' : `${data.user?.id} ${data.organizationId}`;
    try {
      before ??= sessionStorage.getItem(name);
      sessionStorage.setItem(name, known);
    } catch {
      // The browser allows no storage here.
    }
    return known !== before;
  };
}

/** A channel to the tabs that have one of this name; open only while this one listens. */
function createChannel(name: string, hear: () => void) {
  let channel: Channel | undefined;
  const open = (): Channel | undefined =>
    typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(name);
  return {
    listen() {
      channel = open();
      channel?.addEventListener('message', hear);
    },
    /** The message holds nothing: each tab asks for itself. */
    tell() {
      const sender = channel ?? open();
      sender?.postMessage(null);
      if (sender !== channel) sender?.close();
    },
    close() {
      channel?.close();
      channel = undefined;
    },
  };
}

/** @param name the session route's URL */
export function createTab<Session extends Answer>(name: string, ask: () => Promise<Session>): Tab<Session> {
  const isNews = createMemory(name);
  const channel = createChannel(name, () => void follow());
  const listeners = new Set<(session: Session) => void>();
  let hasAsked = false;
  let isAsking = false;
  let isOutdated = false;

  function learn(answer: Promise<Session>): void {
    hasAsked = true;
    void answer.then((session) => {
      if (isNews(session)) channel.tell();
    });
  }

  function change(): void {
    channel.tell();
    // Else the next change of another tab might look like what was known before.
    if (listeners.size > 0) void ask().then(isNews);
  }

  /** One question at a time; a message meanwhile leads to one more. */
  async function follow(): Promise<void> {
    isOutdated = true;
    if (isAsking) return;
    isAsking = true;
    while (isOutdated) {
      isOutdated = false;
      const answer = await ask();
      // A listener that throws keeps nothing from the others.
      if (isNews(answer)) for (const listener of listeners) queueMicrotask(() => listener(answer));
    }
    isAsking = false;
  }

  function subscribe(given: (session: Session) => void): () => void {
    const listener = (session: Session): void => {
      if (listeners.has(listener)) given(session);
    };
    listeners.add(listener);
    if (listeners.size === 1) {
      channel.listen();
      if (!hasAsked) learn(ask());
    }
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) channel.close();
    };
  }

  return { learn, change, subscribe };
}
