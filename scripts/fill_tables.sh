#!/usr/bin/env bash
# The papers' tables on the default model, one run after the other: scripts/fill_tables.sh DATA RUNS [PART]...
# Every run is resumable: stop it at any time, and the same line goes on. Two cores ask some 300 to 1,000 questions an hour;
# PART is one or several of madam, substitutes, ra-rag, ac-rag, ragenta (all, in this order). Pages: see docs/papers.md.
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(realpath "$1")
runs=$2
shift 2
parts=${*:-madam substitutes ra-rag ac-rag ragenta}
mkdir -p "$runs"
runs=$(realpath "$runs")
python="nice -n 15 .venv/bin/python"
disputatio="nice -n 15 .venv/bin/disputatio"
table1="closed_book,concat,self_reflection,self_rag,speculative_rag,astute_rag,madam_rag,bound=madam_rag,disputation"
settings="--set bound.bound=true --set self_rag.aggregate=all --set self_rag.threshold=-inf --set speculative_rag.aggregate=all"
# 3: some questions failed and the others were answered; the same line tries those again
run() { $disputatio eval run "$@" || [ $? -eq 3 ]; }

for part in $parts; do
    case $part in
    madam)
        $python -m bench.papers.madam_tables --data "$data/ramdocs/dev.jsonl" --out "$runs/madam" --rows 60 --execute
        $python -m bench.papers.madam_page --runs "$runs/madam"
        ;;
    substitutes) # FaithEval-inconsistent and AmbigDocs are not at hand: sets of their kind, and named so
        [ -f "$runs/faitheval-like.jsonl" ] || $disputatio eval build inconsistent "conflictnq:$data/conflictnq/val.jsonl" \
            "nq_with_passages:$data/nq_with_passages/nq.jsonl" --out "$runs/faitheval-like.jsonl"
        [ -f "$runs/ambigdocs-like.jsonl" ] || $disputatio eval build ramdocs "ambignq:$data/ambignq/dev_light.json" \
            --passages "nq_with_passages:$data/nq_with_passages/nq.jsonl" --out "$runs/ambigdocs-like.jsonl"
        # shellcheck disable=SC2086 # the settings are several words
        run "faitheval_inconsistent:$runs/faitheval-like.jsonl" --strategy "$table1" $settings --limit 40 --in-flight 8 --out "$runs/faitheval-like"
        # shellcheck disable=SC2086
        run "ramdocs:$runs/ambigdocs-like.jsonl" --strategy "$table1" $settings --limit 40 --in-flight 8 --out "$runs/ambigdocs-like"
        ;;
    ra-rag)
        for draw in 0 1 2; do
            for liars in 1 4 7; do
                folder="$runs/ra-rag/draw$draw"
                built="$folder/sources-a$liars"
                [ -f "$built/about.json" ] || $disputatio eval build multisource "conflictnq:$data/conflictnq/val.jsonl" \
                    "poisonedrag:$data/poisonedrag/nq.jsonl" --prior adversary-hammer --adversaries "$liars" --estimate 40 --test 30 --draw "$draw" \
                    --texts model --journal "$runs/ra-rag/texts.sqlite" --out "$built"
                run "multisource:$built/test.jsonl" --strategy majority_vote,concat,robust_rag,closed_book,ra_rag,oracle \
                    --set majority_vote.voters=sources --set concat.k=10 --set robust_rag.k=10 --set ra_rag.selection=all \
                    --journal "$runs/ra-rag/calls.sqlite" --in-flight 8 --out "$folder/nq-a$liars"
            done
            $disputatio eval tables --paper ra-rag "$folder"/nq-a*
        done
        ;;
    ac-rag)
        $python -m bench.papers.ac_rag_medical --data "$data" --index "$runs/medical.index" --journal "$runs/ac-rag.sqlite" \
            --sets pubmedqa-test medqa medmcqa mmlu --questions 60 --each 60 --tune 40 --baselines
        for pair in "qwen2.5-coder-0.5b qwen2.5-coder-1.5b" "qwen2.5-coder-1.5b qwen2.5-coder-0.5b" "qwen2.5-coder-0.5b qwen2.5-coder-0.5b"; do
            read -r detector resolver <<<"$pair" # Table 2
            $python -m bench.papers.ac_rag_medical --data "$data" --index "$runs/medical.index" --journal "$runs/ac-rag.sqlite" \
                --sets pubmedqa-test --questions 60 --tune 0 --short --role "detector=local:$detector" --role "resolver=local:$resolver" \
                --out "$runs/pairing_${detector//./_}_${resolver//./_}.json.gz"
        done
        ;;
    ragenta)
        index="$runs/pages/datamorgana" # made or gone on with here: embedding takes an hour
        $python -m bench.search.retrieval_quality datamorgana "$data/datamorgana" --keep "$runs/pages"
        run "datamorgana:$data/datamorgana/questions_500.jsonl" --strategy concat,letter=ragenta,ragenta --set letter.letter=true \
            --index "$index" --judge --rubric release --limit 60 --in-flight 8 --out "$runs/ragenta"
        $disputatio eval tables --paper ragenta "$runs/ragenta"
        ;;
    *)
        echo "fill_tables: $part is none of madam, substitutes, ra-rag, ac-rag, ragenta" >&2
        exit 2
        ;;
    esac
done
