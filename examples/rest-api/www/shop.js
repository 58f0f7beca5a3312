// The page: lists products, saves and removes them, by the API below api/.

const byId = (id) => document.getElementById(id);
const say = (text) => { byId("state").textContent = text; };
const path = (id) => `api/products/${encodeURIComponent(id)}`;
let query = "";
let next = "";

async function ask(url, request) {
  const answer = await fetch(url, request);
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  const faults = Object.entries(problem.faults ?? {}).map(([name, fault]) => `${name}: ${fault}`);
  throw new Error([problem.title ?? `status ${answer.status}`, ...faults].join("; "));
}

// Runs what a button is for; what goes wrong is said.
async function attempt(action) {
  try { await action(); } catch (error) { say(error.message); }
}

function row(product) {
  const line = document.createElement("tr");
  const name = document.createElement("td");
  name.textContent = product.name;
  const about = document.createElement("small");
  about.textContent = product.description;
  name.append(about);
  line.append(name);
  for (const figure of [(product.cents / 100).toFixed(2), product.stock]) {
    const cell = document.createElement("td");
    cell.className = "number";
    cell.textContent = figure;
    line.append(cell);
  }
  const button = document.createElement("button");
  button.textContent = "Remove";
  button.onclick = () => attempt(async () => {
    await ask(path(product.id), { method: "DELETE" });
    await list(`Removed ${product.name}.`);
  });
  const last = document.createElement("td");
  last.append(button);
  line.append(last);
  return line;
}

async function list(said) {
  const begin = performance.now();
  const page = await (await ask(`api/products${query}`)).json();
  byId("products").replaceChildren(...page.products.map(row));
  next = page.next ?? "";
  byId("next").disabled = !next;
  say(said ?? `${page.products.length} products in ${Math.round(performance.now() - begin)} ms.`);
}

byId("first").onclick = () => attempt(async () => { query = ""; await list(); });
byId("next").onclick = () => attempt(async () => { query = next; await list(); });
byId("edit").onsubmit = (event) => {
  event.preventDefault();
  const { id, cents, stock, ...texts } = Object.fromEntries(new FormData(event.target));
  const product = { ...texts, cents: Number(cents), stock: Number(stock) };
  attempt(async () => {
    await ask(path(id), {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(product),
    });
    await list(`Saved ${product.name}.`);
  });
};

attempt(() => list());
